//! Benjamini-Hochberg: p values of many comparisons, adjusted so that a list cut at 5 % has 5 % false entries
//! in the long run.

/// Adjusted p values, in the order given. A p that is not a number counts as 1.
#[must_use]
#[allow(clippy::cast_precision_loss)]
pub fn adjusted(p: &[f64]) -> Vec<f64> {
    let p: Vec<f64> = p.iter().map(|p| if p.is_nan() { 1.0 } else { p.clamp(0.0, 1.0) }).collect();
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut out = vec![1.0; p.len()];
    let mut least = 1.0_f64;
    for (rank, at) in order.into_iter().enumerate().rev() {
        least = least.min(p[at] * p.len() as f64 / (rank + 1) as f64);
        out[at] = least;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::super::oracle_json;
    use super::*;

    #[test]
    fn the_published_example_is_met() {
        let Some(paper) = oracle_json("multiplicity/benjamini_hochberg_1995.json") else { return };
        let list = |value: &serde_json::Value| -> Vec<f64> {
            value.as_array().unwrap().iter().map(|p| p.as_f64().unwrap()).collect()
        };
        let got = adjusted(&list(&paper["p_values"]));
        let expected = list(&paper["methods"]["fdr_bh"]["adjusted"]);
        assert_eq!(got.len(), expected.len());
        assert!(got.iter().zip(&expected).all(|(a, b)| (a - b).abs() < 1e-12), "{got:?}");
        let rejected = got.iter().filter(|p| **p <= 0.05).count();
        assert_eq!(rejected as u64, paper["published"]["BH rejects"].as_u64().unwrap());
    }

    #[test]
    fn order_does_not_matter_and_nothing_is_below_its_p() {
        let (p, shuffled) = ([0.01, 0.04, 0.03, 0.2], [0.2, 0.03, 0.04, 0.01]);
        let got = adjusted(&p);
        assert_eq!(got, [0.04, got[2], 0.04 * 4.0 / 3.0, 0.2]);
        let mut back = adjusted(&shuffled);
        back.reverse();
        assert_eq!(back, got);
        assert_eq!(adjusted(&[f64::NAN, 0.01]), [1.0, 0.02]);
        assert!(adjusted(&[]).is_empty());
    }
}
