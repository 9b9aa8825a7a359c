/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/* First in, first out, in C for the direct interface. */
#include <mmsim.h>

static uint32_t queue;

HOOK(init) int32_t init(void)
{
	queue = list_new();
	return queue == 0;
}

HOOK(folio_added) void folio_added(uint32_t folio)
{
	list_add_tail(queue, folio);
}

HOOK(evict_folios) void evict_folios(uint32_t wanted)
{
	uint32_t folio = list_first(queue);

	for (int seen = 0; folio != NO_FOLIO && seen < 4096; seen++) {
		uint32_t flags = folio_flags(folio);

		if ((flags & (UPTODATE | LRU | DIRTY | WRITEBACK)) == (UPTODATE | LRU) && !offer(folio))
			return;
		folio = list_next(folio);
	}
}
