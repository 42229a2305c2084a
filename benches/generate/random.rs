//! Numbers that look random and are the same for the same seed: SplitMix64, and the two distributions that waits have.

/// A SplitMix64 generator (Steele, Lea and Flood 2014).
pub struct Random(pub u64);

impl Random {
    /// The next 64 bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// Above 0, up to 1.
    #[expect(clippy::cast_precision_loss, reason = "53 bits are what a double holds")]
    pub fn unit(&mut self) -> f64 {
        ((self.bits() >> 11) + 1) as f64 / (1_u64 << 53) as f64
    }

    /// True in `share` of all cases.
    pub fn chance(&mut self, share: f64) -> bool {
        self.unit() <= share
    }

    /// One of several.
    pub fn pick<'a, T>(&mut self, of: &'a [T]) -> &'a T {
        let at = self.bits() % of.len() as u64;
        &of[usize::try_from(at).unwrap_or(0)]
    }

    /// A wait without memory: whole ns around a mean.
    pub fn exponential(&mut self, mean: f64) -> i64 {
        whole(-mean * self.unit().ln())
    }

    /// A wait with a long tail: whole ns around a median (Box and Muller 1958).
    pub fn lognormal(&mut self, median: f64, sigma: f64) -> i64 {
        let radius = (-2.0 * self.unit().ln()).sqrt();
        let normal = radius * (std::f64::consts::TAU * self.unit()).cos();
        whole(median * (sigma * normal).exp())
    }

    /// 16 hex digits.
    pub fn hex16(&mut self) -> String {
        format!("{:016x}", self.bits())
    }

    /// 32 hex digits.
    pub fn hex32(&mut self) -> String {
        format!("{:016x}{:016x}", self.bits(), self.bits())
    }
}

#[expect(clippy::cast_possible_truncation, reason = "saturates, and no wait is that long")]
fn whole(ns: f64) -> i64 {
    ns as i64
}
