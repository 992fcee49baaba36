/** Primes, for the mechanisms that calculate in a finite field. */

/** Whether a number below 2^33 is prime, by trial: at most 46,000 divisions. */
export function isPrime(/** @type {number} */ number) {
  if (number < 4) return number > 1;
  if (number % 2 === 0) return false;
  for (let divisor = 3; divisor * divisor <= number; divisor += 2) if (number % divisor === 0) return false;
  return true;
}

/** The inverse modulo a prime, by Fermat. */
export function inverse(/** @type {bigint} */ number, /** @type {bigint} */ prime) {
  let [result, base] = [1n, number % prime];
  for (let power = prime - 2n; power; power >>= 1n) {
    if (power & 1n) result = (result * base) % prime;
    base = (base * base) % prime;
  }
  return result;
}

/** The smallest prime that is not below a number. */
export function nextPrime(/** @type {number} */ number) {
  let prime = number;
  while (!isPrime(prime)) prime++;
  return prime;
}
