/** The current time for elapsed-time displays: one shared timer, stopped while there are no readers. */

import { createSubscriber } from 'svelte/reactivity';

const interval = 200;

const subscribe = createSubscriber((update) => {
  const timer = setInterval(update, interval);
  return () => {
    clearInterval(timer);
  };
});

/** Return milliseconds since 1970. An effect or template that calls this is updated regularly. */
export function now(): number {
  subscribe();
  return Date.now();
}
