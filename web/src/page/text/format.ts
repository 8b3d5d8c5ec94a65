/** Formatting of numbers, durations, sizes and codes for display. */

/** Format seconds, such as `0.42 s`, `12.3 s` or `2 min 5 s`. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '';
  if (seconds < 0.001) return '< 1 ms';
  if (seconds < 0.1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const total = Math.round(seconds);
  const minutes = Math.floor(total / 60);
  return minutes < 60
    ? `${minutes} min ${total % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** Format an integer, such as `1,234`, in English regardless of the browser's language. */
export function count(number: number): string {
  return number.toLocaleString('en');
}

/** Format a number with its noun, such as `1 line` or `2 lines`. */
export function pluralize(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** Format a size, such as `812 bytes`, `4.1 kB` or `5.0 MB`. */
export function size(bytes: number): string {
  if (bytes < 1000) return pluralize(bytes, 'byte');
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** Remove the trailing zeros of a decimal string: `0.00140` becomes `0.0014`. */
export function amount(decimal: string): string {
  if (!/^-?\d+\.\d+$/.test(decimal)) return decimal;
  const short = decimal.replace(/0+$/, '');
  return short.endsWith('.') ? short.slice(0, -1) : short;
}

/** Format milliseconds since 1970 as a time of day. */
export function clock(milliseconds: number): string {
  return new Date(milliseconds).toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
}

/** Replace underscores by spaces: `tool_error` becomes `tool error`. */
export function humanize(code: string): string {
  return code.replaceAll('_', ' ');
}

/** Make a sentence of `text`: capitalize it, and add a full stop unless it ends with punctuation. */
export function sentence(text: string): string {
  if (text === '') return '';
  const capitalized = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(capitalized) ? capitalized : `${capitalized}.`;
}
