//! Has time pass by what instructions cost.
//!
//! QEMU's clock counts each instruction once. A block whose instructions cost more or less adds the
//! difference to a *balance* when it begins; beyond a threshold a callback moves the clock by whole
//! counts and the balance back. *Due* time, which is the count and the balance together, is exact at any
//! instant; the clock is close to it.
//!
//! Nothing of this depends on where QEMU happens to leave its execution. A turn that it left early goes
//! on with the balance as it was. The guest ends a turn (by its time, HLT or WFI, PAUSE or YIELD, an interrupt for another
//! CPU), and there the CPU's clock becomes its due time. RDTSC and MRS of
//! the counter read due time, so that it never goes back.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use preemptlab_protocol::prices::{Class, Price, Prices};

use crate::{
    classifier::Classifier,
    clock::Clock,
    qemu::{Access, Condition, InstructionCallback, Scoreboard, Translation},
};

/// The balance in 1/256 counts, plus this: QEMU compares without signs.
const BIAS: u64 = 1 << 40;

/// The clock differs from due time by about as many counts.
const THRESHOLD_COUNTS: u64 = 64;

const ONE: u64 = Price::ONE.get() as u64;

/// The balance of the CPU that executes; translated code adds to it.
static BALANCE: AtomicU64 = AtomicU64::new(BIAS);

/// What instructions cost, and what each CPU owes.
pub struct Meter {
    prices: Prices,
    scoreboard: Scoreboard,
    classifier: Classifier,
    /// Balances between turns, by the CPU's number.
    balances: Vec<i64>,
    cpu: usize,
}

impl Meter {
    pub fn new(prices: Prices, classifier: Classifier) -> Self {
        Self { prices, scoreboard: Scoreboard::new(), classifier, balances: Vec::new(), cpu: 0 }
    }

    /// The prices of a block's instructions from each one to the end, in 1/256 counts. Asks for a
    /// callback, which gets the block's length, where the balance is beyond the threshold and where the
    /// clock is about to be read.
    pub fn translate(
        &mut self,
        block: &Translation,
        clock: &mut Clock,
        settle: InstructionCallback,
    ) -> Vec<u64> {
        let len = block.len();
        let mut prices = vec![ONE; len];
        for (index, price) in prices.iter_mut().enumerate() {
            let mut bytes = [0; 15];
            let (class, bytes) = self.classifier.class(block, index, &mut bytes);
            if matches!(class, Class::Rdtsc | Class::Counter) {
                block.on_execution(index, settle, Access::None, len as u64);
            }
            *price = u64::from(self.prices.of(class).get());
            // QEMU takes the count of the rest back and executes it as a block of its own, which pays.
            if self.classifier.processor().leaves_block(block.address(), bytes) {
                break;
            }
        }
        let mut left = prices;
        let mut sum = 0;
        for price in left.iter_mut().rev() {
            sum += *price;
            *price = sum;
        }
        // SAFETY: a block is translated where a CPU is about to execute it.
        let translating = unsafe { clock.cpu() };
        let entry = self.scoreboard.entry(&BALANCE, translating);
        let free = len as u64 * ONE;
        if sum == free {
            return left;
        }
        block.add_on_execution(entry, sum.wrapping_sub(free));
        let (condition, beyond) = if sum > free {
            (Condition::GreaterOrEqual, BIAS + THRESHOLD_COUNTS * ONE)
        } else {
            (Condition::Less, BIAS - THRESHOLD_COUNTS * ONE)
        };
        block.on_execution_if(condition, entry, beyond, settle, len as u64);
        left
    }

    /// Moves the clock to due time and the balance back.
    ///
    /// # Safety
    ///
    /// To be called from a callback of a block of so many instructions.
    pub unsafe fn settle(&self, clock: &Clock, block_len: u16) {
        let counts = self.balance().div_euclid(ONE as i64);
        // SAFETY: as the caller promises.
        unsafe {
            if counts > 0 {
                clock.pass(counts);
            } else {
                clock.take_back(-counts, block_len);
            }
        }
        self.add(-counts * ONE as i64);
    }

    /// Has the CPU that executes owe more, in 1/256 counts.
    ///
    /// # Safety
    ///
    /// To be called from a callback.
    pub unsafe fn charge(&self, clock: &Clock, price: u32) {
        self.add(price.into());
        let counts = self.balance().div_euclid(ONE as i64);
        if counts >= THRESHOLD_COUNTS as i64 {
            // SAFETY: as the caller promises.
            unsafe { clock.pass(counts) };
            self.add(-counts * ONE as i64);
        }
    }

    /// What the CPU that executes owes, in 1/256 counts.
    pub fn balance(&self) -> i64 {
        BALANCE.load(Relaxed).wrapping_sub(BIAS).cast_signed()
    }

    fn add(&self, balance: i64) {
        BALANCE.store(BALANCE.load(Relaxed).wrapping_add(balance.cast_unsigned()), Relaxed);
    }

    /// Begins a turn of a CPU, or goes on with it.
    pub fn begin(&mut self, cpu: usize) {
        if self.balances.len() <= cpu {
            self.balances.resize(cpu + 1, 0);
        }
        self.cpu = cpu;
        BALANCE.store(BIAS.wrapping_add(self.balances[cpu].cast_unsigned()), Relaxed);
    }

    /// Interrupts a turn, or ends it: then what is returned are the whole counts that the CPU owes
    /// and that its clock takes now.
    pub fn end(&mut self, is_over: bool) -> i64 {
        let balance = self.balance();
        let owed = if is_over { balance.div_euclid(ONE as i64) } else { 0 };
        if let Some(kept) = self.balances.get_mut(self.cpu) {
            *kept = balance - owed * ONE as i64;
        }
        owed
    }
}
