//! This machine's worker threads.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use crate::Cancel;

/// Calls `work` for every item, on `jobs` threads, in the order of the items; stops early as
/// [`each`] does.
///
/// # Errors
///
/// The first error of a call.
pub fn for_each<T: Sync, E: Send>(
    items: &[T],
    jobs: usize,
    cancel: &Cancel,
    work: impl Fn(&T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let left = Mutex::new(items.iter());
    let next = || left.lock().expect("no worker panicked").next();
    each(next, jobs.min(items.len()), cancel, work)
}

/// Calls `work` for every item that `next` gives, on `jobs` threads; stops early when the run is
/// cancelled or when a call returns an error, which is then returned.
///
/// # Errors
///
/// The first error of a call.
pub fn each<T, E: Send>(
    next: impl Fn() -> Option<T> + Sync,
    jobs: usize,
    cancel: &Cancel,
    work: impl Fn(T) -> Result<(), E> + Sync,
) -> Result<(), E> {
    let failed = AtomicBool::new(false);
    let worker = || {
        while !cancel.is_cancelled() && !failed.load(Ordering::Relaxed) {
            let Some(item) = next() else { break };
            if let Err(error) = work(item) {
                failed.store(true, Ordering::Relaxed);
                return Err(error);
            }
        }
        Ok(())
    };
    thread::scope(|scope| {
        // Fewer threads than wanted, where the machine gives no more, do the same work.
        let workers: Vec<_> = (0..jobs.max(1))
            .map_while(|_| thread::Builder::new().spawn_scoped(scope, worker).ok())
            .collect();
        if workers.is_empty() {
            return worker();
        }
        let results: Vec<_> = workers
            .into_iter()
            .map(|worker| worker.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect();
        results.into_iter().collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_item_is_worked_on_once() {
        let items: Vec<u32> = (0..100).collect();
        let seen = Mutex::new(Vec::new());
        for_each(&items, 4, &Cancel::default(), |item| {
            seen.lock().unwrap().push(*item);
            Ok::<_, ()>(())
        })
        .unwrap();
        let mut seen = seen.into_inner().unwrap();
        seen.sort_unstable();
        assert_eq!(seen, items);
    }

    #[test]
    fn an_error_ends_the_work() {
        let items: Vec<u32> = (0..100).collect();
        let result = for_each(&items, 1, &Cancel::default(), |item| {
            assert!(*item <= 3);
            if *item == 3 { Err("three") } else { Ok(()) }
        });
        assert_eq!(result, Err("three"));
    }
}
