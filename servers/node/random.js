/** Random draws. Math.random has 52 bits: flooring its product favours no number by more than 1 in 10^11 here. */

/** A whole number from 0 to below - 1, all equally likely. */
export function integer(below) {
  return Math.floor(Math.random() * below);
}

/**
 * So many different whole numbers from 0 to below - 1; every such set is equally likely.
 * Drawing again what was drawn already costs little: 500 of 10,000 take 513 draws on average.
 */
export function distinct(count, below) {
  const drawn = new Set();
  while (drawn.size < count) {
    drawn.add(integer(below));
  }
  return Array.from(drawn);
}
