//! System calls that the standard library has no door for.
#![allow(unsafe_code, reason = "system calls; each wrapper states why its call is sound")]

use std::ffi::CString;
use std::fs::File;
use std::io::Error;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileExt, OpenOptionsExt as _};
use std::ptr::null_mut;
use std::time::Duration;

use mmsim_recorder::chance::Rng;
use mmsim_recorder::script::{Advice, FileAdvice};

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Bytes that a table of the last level maps.
const ALIGNED: usize = 2 << 20;

fn c(text: &str) -> Result<CString, String> {
    CString::new(text).map_err(|e| format!("{text:?}: {e}"))
}

fn checked(what: &str, returned: i64) -> Result<(), String> {
    match returned {
        -1 => Err(format!("{what}: {}", Error::last_os_error())),
        _ => Ok(()),
    }
}

/// Mounts a file system of the kernel's own on a folder, which is made.
pub fn mount(kind: &str, folder: &str) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{folder}: {e}"))?;
    let (k, f) = (c(kind)?, c(folder)?);
    // SAFETY: strings that end in 0 and outlive the call; no options.
    let r = unsafe { libc::mount(k.as_ptr(), f.as_ptr(), k.as_ptr(), 0, null_mut()) };
    checked(folder, r.into())
}

/// Mounts a device's file system on a folder, which is made: with the option `ro` to be read only,
/// else with the file system's own options.
pub fn mount_device(kind: &str, device: &str, folder: &str, options: &str) -> Result<(), String> {
    std::fs::create_dir_all(folder).map_err(|e| format!("{folder}: {e}"))?;
    let (k, d, f) = (c(kind)?, c(device)?, c(folder)?);
    let flags = if options == "ro" { libc::MS_RDONLY } else { 0 };
    let data = c(if matches!(options, "ro" | "none") { "" } else { options })?;
    // SAFETY: strings that end in 0 and outlive the call.
    let r = unsafe { libc::mount(d.as_ptr(), f.as_ptr(), k.as_ptr(), flags, data.as_ptr().cast()) };
    checked(device, r.into())
}

/// Makes the console standard input, output and error.
pub fn open_console() -> Result<(), String> {
    let both = File::options().read(true).write(true).open("/dev/console");
    let console = both.map_err(|e| format!("/dev/console: {e}"))?;
    for fd in 0..3 {
        // SAFETY: only numbers; no descriptor has them now.
        checked("dup2", unsafe { libc::dup2(console.as_raw_fd(), fd) }.into())?;
    }
    // It may itself be one of the three.
    std::mem::forget(console);
    Ok(())
}

/// Loads a module, which is not compressed.
pub fn load_module(path: &str, args: &str) -> Result<(), String> {
    let file = File::open(path).map_err(|e| format!("{path}: {e}"))?;
    let args = c(args)?;
    // SAFETY: an open file and a string that ends in 0; both outlive the call.
    let r = unsafe { libc::syscall(libc::SYS_finit_module, file.as_raw_fd(), args.as_ptr(), 0) };
    checked(path, r)
}

/// Swaps to a device that has a header.
pub fn swapon(device: &str, priority: Option<u32>) -> Result<(), String> {
    let d = c(device)?;
    // `SWAP_FLAG_PREFER`.
    let flags = priority.map_or(0, |p| 0x8000 | p);
    // SAFETY: a string that ends in 0 and outlives the call.
    checked(device, unsafe { libc::syscall(libc::SYS_swapon, d.as_ptr(), flags) })
}

/// Locks all that this program has mapped.
pub fn lock_all() -> Result<(), String> {
    // SAFETY: changes no contents.
    checked("mlockall", unsafe { libc::mlockall(libc::MCL_CURRENT) }.into())
}

/// Time since boot. Under `-icount` it is the number of instructions.
pub fn now() -> Duration {
    let mut t = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to `t` only.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut t) };
    Duration::new(t.tv_sec.unsigned_abs(), t.tv_nsec.unsigned_abs() as u32)
}

/// Makes a second process. `None` in it, its number in the first.
pub fn fork() -> Result<Option<i32>, String> {
    // SAFETY: this program has one thread, so the child may go on as it likes.
    let pid = unsafe { libc::fork() };
    checked("fork", pid.into())?;
    Ok((pid > 0).then_some(pid))
}

/// Ends a second process that cannot go on.
pub fn exit_unless(fine: bool) {
    if !fine {
        // SAFETY: nothing of this process is needed any more.
        unsafe { libc::_exit(1) }
    }
}

/// Kills a process and waits for its end.
pub fn kill(pid: i32) {
    // SAFETY: only numbers; the process is a child that was not waited for yet.
    unsafe {
        libc::kill(pid, libc::SIGKILL);
        libc::waitpid(pid, null_mut(), 0);
    }
}

/// Has the calling process run on this CPU only.
pub fn pin(cpu: usize) -> Result<(), String> {
    // SAFETY: a set of CPUs is plain memory, of which zeros are the empty set.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: changes the set only; the number is below its size.
    unsafe { libc::CPU_SET(cpu, &mut set) };
    // SAFETY: reads the set only.
    let r = unsafe { libc::sched_setaffinity(0, size_of_val(&set), &raw const set) };
    checked("sched_setaffinity", r.into())
}

/// Ends the machine.
pub fn power_off() -> ! {
    // SAFETY: nothing follows.
    unsafe { libc::reboot(libc::RB_POWER_OFF) };
    loop {
        std::thread::park();
    }
}

/// A packet socket with a ring of blocks of 2^order pages. `None`: the allocation of some block
/// failed.
pub fn packet_ring(order: u8, blocks: u64) -> Result<Option<OwnedFd>, String> {
    // SAFETY: only numbers.
    let fd = unsafe { libc::socket(libc::AF_PACKET, libc::SOCK_RAW, 0) };
    checked("a packet socket", fd.into())?;
    // SAFETY: a descriptor that was just made, and has no other owner.
    let socket = unsafe { OwnedFd::from_raw_fd(fd) };
    let size = (PAGE << order) as u32;
    let request = libc::tpacket_req {
        tp_block_size: size,
        tp_block_nr: blocks as u32,
        tp_frame_size: PAGE as u32,
        tp_frame_nr: blocks as u32 * (size / PAGE as u32),
    };
    let bytes = size_of_val(&request) as libc::socklen_t;
    let ring = (libc::SOL_PACKET, libc::PACKET_RX_RING);
    // SAFETY: the structure that the option takes, which outlives the call.
    let r = unsafe { libc::setsockopt(fd, ring.0, ring.1, (&raw const request).cast(), bytes) };
    match (r, Error::last_os_error().raw_os_error()) {
        (0, _) => Ok(Some(socket)),
        (_, Some(libc::ENOMEM)) => Ok(None),
        _ => checked("PACKET_RX_RING", r.into()).map(|()| None),
    }
}

/// A pipe that holds at most `pages` pages, with its two ends.
pub fn pipe(pages: u64) -> Result<[OwnedFd; 2], String> {
    let mut fds = [0; 2];
    // SAFETY: the call writes to `fds` only.
    checked("a pipe", unsafe { libc::pipe2(fds.as_mut_ptr(), libc::O_NONBLOCK) }.into())?;
    // SAFETY: descriptors that were just made, and have no other owner.
    let ends = fds.map(|fd| unsafe { OwnedFd::from_raw_fd(fd) });
    let bytes = (pages as usize * PAGE) as libc::c_int;
    // SAFETY: only numbers.
    checked("F_SETPIPE_SZ", unsafe { libc::fcntl(fds[1], libc::F_SETPIPE_SZ, bytes) }.into())?;
    Ok(ends)
}

/// Private anonymous pages without huge pages, or pages of a file that are shared and only read.
#[derive(Debug)]
pub struct Mapping {
    start: *mut u8,
    pages: usize,
    file: Option<File>,
    /// Drawn bytes of each page in turn; none: its pages hold one byte throughout.
    drawn: Vec<usize>,
}

impl Mapping {
    /// Maps n pages where there is room, and touches none. Neighbours share page tables.
    pub fn anywhere(n: usize) -> Result<Mapping, String> {
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        // SAFETY: a new mapping at a place of the kernel's choice.
        let p = unsafe { libc::mmap(null_mut(), n * PAGE, prot, flags, -1, 0) };
        if p == libc::MAP_FAILED {
            return Err(format!("mmap of {n} pages: {}", Error::last_os_error()));
        }
        let all = Mapping { start: p.cast(), pages: n, file: None, drawn: Vec::new() };
        // SAFETY: a mapping of our own; changes no contents.
        let r = unsafe { libc::madvise(p, n * PAGE, libc::MADV_NOHUGEPAGE) };
        // Kernels without huge pages know no such advice.
        if r != 0 && Error::last_os_error().raw_os_error() != Some(libc::EINVAL) {
            checked("MADV_NOHUGEPAGE", r.into())?;
        }
        Ok(all)
    }
    /// The same, aligned to 2 MiB.
    pub fn aligned(n: usize) -> Result<Mapping, String> {
        let mut all = Mapping::anywhere(n + ALIGNED / PAGE)?;
        let before = all.start.align_offset(ALIGNED);
        let start = all.start.wrapping_add(before);
        let behind = start.wrapping_add(n * PAGE);
        // SAFETY: `before` is less than the surplus of 2 MiB: what is given back is of the
        // mapping, and before or behind the part that is kept.
        unsafe {
            if before > 0 {
                checked("munmap", libc::munmap(all.start.cast(), before).into())?;
            }
            (all.start, all.pages) = (start, n);
            checked("munmap", libc::munmap(behind.cast(), ALIGNED - before).into())?;
        }
        Ok(all)
    }

    /// The first n pages of a file, mapped at 2 MiB.
    pub fn of_file(path: &str, n: usize, random: bool) -> Result<Mapping, String> {
        let file = File::open(path).map_err(|e| format!("{path}: {e}"))?;
        let mut all = Mapping::aligned(n)?;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        let fd = file.as_raw_fd();
        // SAFETY: in the place of untouched pages of our own.
        let p = unsafe { libc::mmap(all.start.cast(), n * PAGE, libc::PROT_READ, flags, fd, 0) };
        if p == libc::MAP_FAILED {
            return Err(format!("mmap of {path}: {}", Error::last_os_error()));
        }
        if random {
            // SAFETY: a mapping of our own, and an open file; neither changes contents.
            unsafe {
                checked("MADV_RANDOM", libc::madvise(p, n * PAGE, libc::MADV_RANDOM).into())?;
                let r = libc::posix_fadvise(fd, 0, 0, libc::POSIX_FADV_RANDOM);
                if r != 0 {
                    return Err(format!(
                        "{path}: POSIX_FADV_RANDOM: {}",
                        Error::from_raw_os_error(r)
                    ));
                }
            }
        }
        all.file = Some(file);
        Ok(all)
    }
    /// n pages of a file of a tmpfs, mapped at 2 MiB to read and to write. The first call mounts the
    /// file system, and the first one of a name makes the file.
    pub fn of_tmpfs(name: &str, n: usize) -> Result<Mapping, String> {
        const FOLDER: &str = "/shm";
        if !std::path::Path::new(FOLDER).exists() {
            mount_device("tmpfs", "tmpfs", FOLDER, "size=100%")?;
        }
        let path = format!("{FOLDER}/{name}");
        let opened =
            File::options().read(true).write(true).create(true).truncate(false).open(&path);
        let file = opened.map_err(|e| format!("{path}: {e}"))?;
        let length = file.metadata().map_err(|e| format!("{path}: {e}"))?.len();
        file.set_len(length.max((n * PAGE) as u64)).map_err(|e| format!("{path}: {e}"))?;
        let mut all = Mapping::aligned(n)?;
        let prot = libc::PROT_READ | libc::PROT_WRITE;
        let flags = libc::MAP_SHARED | libc::MAP_FIXED;
        // SAFETY: in the place of untouched pages of our own.
        let p = unsafe { libc::mmap(all.start.cast(), n * PAGE, prot, flags, file.as_raw_fd(), 0) };
        if p == libc::MAP_FAILED {
            return Err(format!("mmap of {path}: {}", Error::last_os_error()));
        }
        all.file = Some(file);
        Ok(all)
    }
    /// Reads 64 bytes at a page's offset through the descriptor.
    pub fn pread(&self, page: usize) -> Result<(), String> {
        let file = self.file.as_ref().ok_or("a region of anonymous memory has no descriptor")?;
        let mut bytes = [0; 64];
        file.read_exact_at(&mut bytes, (page * PAGE) as u64).map_err(|e| format!("pread: {e}"))?;
        std::hint::black_box(bytes);
        Ok(())
    }

    /// Reads pages through the descriptor, 64 a call, with `O_DIRECT` or `RWF_DONTCACHE`, into memory
    /// that is there.
    pub fn read_uncached(&self, at: usize, n: usize, dontcache: bool) -> Result<(), String> {
        const PIECE: usize = 64;
        const RWF_DONTCACHE: i32 = 0x80;
        let file = self.file.as_ref().ok_or("a region of anonymous memory has no descriptor")?;
        let path = format!("/proc/self/fd/{}", file.as_raw_fd());
        let direct = if dontcache { 0 } else { libc::O_DIRECT };
        let opened = std::fs::OpenOptions::new().read(true).custom_flags(direct).open(&path);
        let opened = opened.map_err(|e| format!("{path}: {e}"))?;
        let buffer = Mapping::aligned(PIECE)?;
        (0..PIECE).for_each(|page| buffer.write(page));
        for first in (at..at + n).step_by(PIECE) {
            let bytes = PIECE.min(at + n - first) * PAGE;
            let part = libc::iovec { iov_base: buffer.start.cast(), iov_len: bytes };
            let flags = if dontcache { RWF_DONTCACHE } else { 0 };
            let (fd, place) = (opened.as_raw_fd(), (first * PAGE) as i64);
            // SAFETY: the buffer is as long as what is read, and nothing else refers to it.
            let r = unsafe { libc::preadv2(fd, &part, 1, place, flags) };
            if r != bytes as isize {
                return Err(format!("preadv2 gave {r}: {}", Error::last_os_error()));
            }
        }
        Ok(())
    }
    /// Says something of pages of the file.
    pub fn fadvise(&self, at: usize, n: usize, advice: FileAdvice) -> Result<(), String> {
        let file = self.file.as_ref().ok_or("a region of anonymous memory has no descriptor")?;
        let advice = match advice {
            FileAdvice::Normal => libc::POSIX_FADV_NORMAL,
            FileAdvice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
            FileAdvice::Random => libc::POSIX_FADV_RANDOM,
            FileAdvice::WillNeed => libc::POSIX_FADV_WILLNEED,
            FileAdvice::NoReuse => libc::POSIX_FADV_NOREUSE,
            FileAdvice::DontNeed => libc::POSIX_FADV_DONTNEED,
        };
        let (first, bytes) = ((at * PAGE) as i64, (n * PAGE) as i64);
        // SAFETY: an open file; no advice changes contents.
        match unsafe { libc::posix_fadvise(file.as_raw_fd(), first, bytes, advice) } {
            0 => Ok(()),
            e => Err(format!("posix_fadvise: {}", Error::from_raw_os_error(e))),
        }
    }
    /// Locks pages, or unlocks them.
    pub fn lock_part(&self, at: usize, n: usize, lock: bool) -> Result<(), String> {
        self.at(at + n - 1);
        let start = self.at(at).cast();
        // SAFETY: the pages are of the mapping; neither call changes contents.
        let r = match lock {
            true => unsafe { libc::mlock(start, n * PAGE) },
            false => unsafe { libc::munlock(start, n * PAGE) },
        };
        checked("mlock", r.into())
    }

    fn at(&self, page: usize) -> *mut u8 {
        assert!(page < self.pages, "page {page} of {}", self.pages);
        self.start.wrapping_add(page * PAGE)
    }
    /// One load from the first byte of a page.
    #[inline]
    pub fn read(&self, page: usize) {
        // SAFETY: the page is of the mapping.
        std::hint::black_box(unsafe { self.at(page).read_volatile() });
    }
    /// One store to the first byte of a page; one with drawn bytes is written anew, since its swap
    /// device may have kept nothing.
    #[inline]
    pub fn write(&self, page: usize) {
        if self.drawn.is_empty() {
            // SAFETY: the page is of the mapping, and nothing in this program refers to it.
            unsafe { self.at(page).write_volatile(0xA5) };
        } else {
            self.fill(page);
        }
    }
    /// Writes all bytes of a page.
    pub fn fill(&self, page: usize) {
        match self.drawn.get(page % self.drawn.len().max(1)) {
            // SAFETY: as `write`.
            None => unsafe { self.at(page).write_bytes(0xA5, PAGE) },
            Some(&bytes) => {
                let mut rng = Rng::new(page as u64);
                let mut all = [0; PAGE];
                for part in all[..bytes].chunks_mut(8) {
                    part.copy_from_slice(&rng.draw().to_le_bytes()[..part.len()]);
                }
                // SAFETY: as `write`; the copy is as long as a page.
                unsafe { self.at(page).copy_from_nonoverlapping(all.as_ptr(), PAGE) };
            }
        }
    }
    /// From now on each page begins with this number of drawn bytes, in turn.
    pub fn draws(&mut self, bytes: &[usize]) {
        self.drawn = bytes.to_vec();
    }
    /// Asks for huge pages, which the mapping was made without.
    pub fn huge(&self) -> Result<(), String> {
        // SAFETY: a mapping of our own; changes no contents.
        let r = unsafe { libc::madvise(self.start.cast(), self.pages * PAGE, libc::MADV_HUGEPAGE) };
        checked("MADV_HUGEPAGE", r.into())
    }
    /// First address.
    pub fn start(&self) -> usize {
        self.start.addr()
    }
    /// Number of pages.
    pub fn pages(&self) -> usize {
        self.pages
    }
    /// Pins all pages.
    pub fn lock(&self) -> Result<(), String> {
        // SAFETY: changes no contents.
        let r = unsafe { libc::mlock(self.start.cast(), self.pages * PAGE) };
        checked("mlock", r.into())
    }
    /// Asks something of the kernel about pages.
    pub fn advise(&self, first: usize, count: usize, advice: Advice) -> Result<(), String> {
        if count == 0 {
            return Ok(());
        }
        self.at(first + count - 1);
        let advice = match advice {
            Advice::PopulateRead => libc::MADV_POPULATE_READ,
            Advice::Pageout => libc::MADV_PAGEOUT,
            Advice::Free => libc::MADV_FREE,
            Advice::Dontneed => libc::MADV_DONTNEED,
            Advice::Remove => libc::MADV_REMOVE,
        };
        // SAFETY: the pages are of the mapping, and nothing in this program refers to them.
        let r = unsafe { libc::madvise(self.at(first).cast(), count * PAGE, advice) };
        checked("madvise", r.into())
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: nothing else refers to these pages. It cannot fail for a mapping of our own.
        unsafe { libc::munmap(self.start.cast(), self.pages * PAGE) };
    }
}
