use std::{
    ffi::{CStr, c_int, c_void},
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use libc::{RTLD_NEXT, iovec, pthread_cond_t, pthread_mutex_t, ssize_t};

/// The functions that those here stand before. The C library's have versions, because without one
/// dlsym(3) finds the oldest, and the oldest conditions have another layout.
pub static MUTEX_LOCK: Next = Next::new(c"pthread_mutex_lock", Some(c"GLIBC_2.2.5"));
pub static COND_WAIT: Next = Next::new(c"pthread_cond_wait", Some(c"GLIBC_2.3.2"));
pub static COND_SIGNAL: Next = Next::new(c"pthread_cond_signal", Some(c"GLIBC_2.3.2"));
pub static COND_BROADCAST: Next = Next::new(c"pthread_cond_broadcast", Some(c"GLIBC_2.3.2"));
pub static WRITEV: Next = Next::new(c"writev", Some(c"GLIBC_2.2.5"));

/// A function, which is looked up when it is first called: other libraries may do so before a
/// constructor of this one could run.
pub struct Next {
    name: &'static CStr,
    version: Option<&'static CStr>,
    found: AtomicPtr<c_void>,
}

impl Next {
    const fn new(name: &'static CStr, version: Option<&'static CStr>) -> Self {
        Self { name, version, found: AtomicPtr::new(ptr::null_mut()) }
    }

    fn find(&self) -> *mut c_void {
        let found = self.found.load(Relaxed);
        if !found.is_null() {
            return found;
        }
        // SAFETY: both are strings.
        let found = unsafe {
            match self.version {
                Some(version) => libc::dlvsym(RTLD_NEXT, self.name.as_ptr(), version.as_ptr()),
                None => libc::dlsym(RTLD_NEXT, self.name.as_ptr()),
            }
        };
        if found.is_null() {
            // SAFETY: nothing can go on without it.
            unsafe { libc::abort() };
        }
        self.found.store(found, Relaxed);
        found
    }

    /// # Safety
    ///
    /// This is a function of a mutex, and the mutex is valid.
    pub unsafe fn of_mutex(&self, mutex: *mut pthread_mutex_t) -> c_int {
        type Function = unsafe extern "C" fn(*mut pthread_mutex_t) -> c_int;
        // SAFETY: as the caller promises.
        unsafe { std::mem::transmute::<*mut c_void, Function>(self.find())(mutex) }
    }

    /// # Safety
    ///
    /// This is a function of a condition, and the condition is valid.
    pub unsafe fn of_condition(&self, condition: *mut pthread_cond_t) -> c_int {
        type Function = unsafe extern "C" fn(*mut pthread_cond_t) -> c_int;
        // SAFETY: as the caller promises.
        unsafe { std::mem::transmute::<*mut c_void, Function>(self.find())(condition) }
    }

    /// # Safety
    ///
    /// This is a function of both, and both are valid.
    pub unsafe fn of_both(
        &self,
        condition: *mut pthread_cond_t,
        mutex: *mut pthread_mutex_t,
    ) -> c_int {
        type Function = unsafe extern "C" fn(*mut pthread_cond_t, *mut pthread_mutex_t) -> c_int;
        // SAFETY: as the caller promises.
        unsafe { std::mem::transmute::<*mut c_void, Function>(self.find())(condition, mutex) }
    }

    /// # Safety
    ///
    /// This is a function of a file and of parts of memory, and the parts are valid.
    pub unsafe fn of_parts(&self, file: c_int, parts: *const iovec, count: c_int) -> ssize_t {
        type Function = unsafe extern "C" fn(c_int, *const iovec, c_int) -> ssize_t;
        // SAFETY: as the caller promises.
        unsafe { std::mem::transmute::<*mut c_void, Function>(self.find())(file, parts, count) }
    }
}
