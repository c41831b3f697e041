//! Processor time of the process and wall-clock time of an epoch.

use std::fmt;
use std::time::Instant;

const PROCESS_CPUTIME: i32 = 2;

/// A start of both clocks.
pub struct Clock {
    processor: f64,
    wall: Instant,
}

/// What passed since a start, in seconds; of the processor for all threads.
#[derive(Clone, Copy)]
pub struct Seconds {
    pub processor: f64,
    pub wall: f64,
}

#[repr(C)]
struct Timespec {
    seconds: i64,
    nanoseconds: i64,
}

extern "C" {
    fn clock_gettime(clock: i32, time: *mut Timespec) -> i32;
}

impl Clock {
    pub fn start() -> Clock {
        Clock {
            processor: processor(),
            wall: Instant::now(),
        }
    }

    pub fn seconds(&self) -> Seconds {
        Seconds {
            processor: processor() - self.processor,
            wall: self.wall.elapsed().as_secs_f64(),
        }
    }
}

impl fmt::Display for Seconds {
    /// A list of JSON.
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "[{:.9},{:.9}]", self.processor, self.wall)
    }
}

/// Seconds that all threads of this process have used, on 64-bit Linux.
fn processor() -> f64 {
    let mut time = Timespec {
        seconds: 0,
        nanoseconds: 0,
    };
    // SAFETY: `time` has the layout of C's `struct timespec` and outlives the call.
    let failed = unsafe { clock_gettime(PROCESS_CPUTIME, &mut time) } != 0;
    assert!(!failed, "there is no clock of processor time");
    time.seconds as f64 + time.nanoseconds as f64 * 1e-9
}
