/* libCacheSim's library with a hash table that fits its cache: a power of two of buckets,
 * as many as the cache has objects or up to twice as many. (Its command line takes 2^24 for
 * every size.)
 *
 *     right_sized TRACE lru|clock|fifo|sieve OBJECTS
 *
 * reads an oracleGeneral trace, counts every object as one, and prints the misses. To build
 * it, with SRC the sources of libCacheSim and LIB its build folder:
 *
 *     cc -O3 tools/right_sized.c -o right_sized -I$SRC/libCacheSim/include \
 *         $(pkg-config --cflags glib-2.0) -Wl,--start-group $(find $LIB -name '*.a') \
 *         -Wl,--end-group $(pkg-config --libs glib-2.0 libzstd) -lstdc++ -lm -ltcmalloc
 */
#include <libCacheSim.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int main(int argc, char **argv) {
  cache_t *(*const make[])(common_cache_params_t, const char *) = {LRU_init, Clock_init, FIFO_init,
                                                                  Sieve_init};
  const char *const names[] = {"lru", "clock", "fifo", "sieve"};
  int policy = 0;
  while (argc == 4 && policy < 4 && strcmp(argv[2], names[policy]) != 0) policy++;
  if (argc != 4 || policy == 4) {
    fprintf(stderr, "usage: right_sized TRACE lru|clock|fifo|sieve OBJECTS\n");
    return 2;
  }
  common_cache_params_t params = default_common_cache_params();
  params.cache_size = strtoull(argv[3], NULL, 10);
  params.hashpower = 1;
  while ((1ULL << params.hashpower) < params.cache_size) params.hashpower++;
  cache_t *cache = make[policy](params, NULL);

  reader_init_param_t how = default_reader_init_params();
  how.ignore_obj_size = true;
  reader_t *reader = open_trace(argv[1], ORACLE_GENERAL_TRACE, &how);
  request_t *request = new_request();
  unsigned long long misses = 0, requests = 0;
  while (read_one_req(reader, request) == 0) {
    requests++;
    misses += !cache->get(cache, request);
  }
  printf("%llu requests, %llu misses\n", requests, misses);
  return 0;
}
