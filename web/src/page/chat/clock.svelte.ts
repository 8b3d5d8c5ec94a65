/** The time, for what counts seconds on screen: one timer for all, and none while nobody looks. */

import { createSubscriber } from 'svelte/reactivity';

const every = 200;

const subscribe = createSubscriber((update) => {
  const timer = setInterval(update, every);
  return () => {
    clearInterval(timer);
  };
});

/** Milliseconds since 1970; read in an effect or a template it is read again as time goes on. */
export function now(): number {
  subscribe();
  return Date.now();
}
