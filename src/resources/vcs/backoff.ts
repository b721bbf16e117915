/** How long to wait after how many failures: ever longer, and never for all at the same moment. */
const firstMs = 5_000;
const mostMs = 3_600_000;

export const backoffMs = (attempts: number): number =>
  Math.round(Math.min(mostMs, firstMs * 3 ** (attempts - 1)) * (0.75 + Math.random() / 2));
