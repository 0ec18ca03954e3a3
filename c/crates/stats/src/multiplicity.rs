/// Adjusts p-values for their number: of the differences with an adjusted value of at most 5 %, at
/// most 5 % are false, on average (Benjamini and Hochberg, Journal of the Royal Statistical Society
/// B 57, 1995).
///
/// It holds under the positive dependence that quantiles of one sample have (Benjamini and
/// Yekutieli, The Annals of Statistics 29, 2001).
pub fn adjust(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|left, right| p_values[*left].total_cmp(&p_values[*right]));
    let mut adjusted = vec![1.0; p_values.len()];
    let mut least = 1.0_f64;
    for (rank, index) in order.into_iter().enumerate().rev() {
        least = least.min(p_values[index] * p_values.len() as f64 / (rank + 1) as f64);
        adjusted[index] = least;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_and_order_are_kept() {
        assert_eq!(adjust(&[]), [] as [f64; 0]);
        assert_eq!(adjust(&[0.04]), [0.04]);
        assert_eq!(adjust(&[0.04, 0.01, 0.9, 0.04]), [0.16 / 3.0, 0.04, 0.9, 0.16 / 3.0]);
    }
}
