//! Work on several threads, whose results come in order.

use std::{num::NonZero, panic::resume_unwind, thread};

/// Number of results that are in memory at a time: cells, with all of their output.
const AT_A_TIME: usize = 256;

/// Does the work for each item on several threads. `visit` gets the results in the order of the items.
///
/// # Errors
///
/// The first of the work's errors.
pub(crate) fn for_each<I: Sync, T: Send, E: Send>(
    items: &[I],
    work: impl Fn(&I) -> Result<T, E> + Sync,
    mut visit: impl FnMut(T),
) -> Result<(), E> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let work = |share: &[I]| share.iter().map(&work).collect::<Vec<_>>();
    for some in items.chunks(AT_A_TIME) {
        let results: Vec<_> = thread::scope(|scope| {
            let work = &work;
            let spawn = |share| {
                let worker = thread::Builder::new().spawn_scoped(scope, move || work(share));
                // Where the machine gives no more threads, this one does it.
                worker.map_err(|_| work(share))
            };
            let workers: Vec<_> = some.chunks(some.len().div_ceil(threads)).map(spawn).collect();
            let done = workers.into_iter().flat_map(|worker| match worker {
                Ok(worker) => worker.join().unwrap_or_else(|panic| resume_unwind(panic)),
                Err(done) => done,
            });
            done.collect()
        });
        for result in results {
            visit(result?);
        }
    }
    Ok(())
}
