/** Formatting of numbers, durations, sizes and codes for display, in the page's language. */

import { texts } from '../language/language.svelte.ts';
import { ownValue } from '../types.ts';

/** Format seconds, such as `0.42 s`, `12.3 s` or `2 min 5 s`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '';
  if (seconds < 0.001) return '< 1 ms';
  if (seconds < 0.1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 60) return `${decimal(seconds, seconds < 10 ? 2 : 1)} s`;
  const total = Math.round(seconds);
  const minutes = Math.floor(total / 60);
  return minutes < 60
    ? `${minutes} min ${total % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Format seconds that are still being counted, such as `4.2 s` or `2 min 5 s`. */
export function elapsed(seconds: number): string {
  return seconds < 60
    ? `${decimal(seconds, 1)} s`
    : `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
}

/** Format an integer in the page's language, such as `1,234`. */
export function count(number: number): string {
  return number.toLocaleString(texts().language.locale);
}

/** Format a number in the page's language, with at least `places` and at most `most` decimals. */
export function decimal(number: number, places: number, most = places): string {
  return number.toLocaleString(texts().language.locale, {
    minimumFractionDigits: places,
    maximumFractionDigits: most,
    useGrouping: false,
  });
}

/** Format a size, such as `812 bytes`, `4.1 kB` or `5.0 MB`. */
export function size(bytes: number): string {
  if (bytes < 1000) return texts().text.bytes(count(bytes), bytes);
  if (bytes < 1_000_000) return `${decimal(bytes / 1000, 1)} kB`;
  return `${decimal(bytes / 1_000_000, 1)} MB`;
}

/** Remove the trailing zeros of a decimal string: `0.00140` becomes `0.0014`, in German `0,0014`. */
export function amount(value: string): string {
  if (!/^-?\d+\.\d+$/.test(value)) return value;
  const short = value.replace(/\.?0+$/, '');
  return short.replace('.', decimal(0.5, 1).charAt(1));
}

/** Format milliseconds since 1970 as a time of day. */
export function clock(milliseconds: number): string {
  return new Date(milliseconds).toLocaleTimeString(texts().language.locale, {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
}

/** Format milliseconds since 1970 as a day, such as `5 Mar`. */
export function day(milliseconds: number): string {
  const form = { day: 'numeric', month: 'short' } as const;
  return new Date(milliseconds).toLocaleDateString(texts().language.locale, form);
}

/** Put a code of the protocol into words: `tool_error` becomes `tool error`. */
export function humanize(code: string): string {
  return ownValue(texts().codes, code) ?? code.replaceAll('_', ' ');
}

/** Make a sentence of `text`: capitalize it, and add a full stop unless it ends with punctuation. */
export function sentence(text: string): string {
  if (text === '') return '';
  const capitalized = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capitalized) ? capitalized : `${capitalized}.`;
}
