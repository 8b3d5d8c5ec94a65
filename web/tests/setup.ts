import fc from 'fast-check';

// The same examples on every machine, as in the Rust and Python suites. `SEED=random npm test`
// looks for new ones.
const { SEED = '1' } = process.env;
if (SEED !== 'random') fc.configureGlobal({ seed: Number(SEED) });
