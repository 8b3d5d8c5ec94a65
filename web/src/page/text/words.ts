/** Numbers as people read them. */

/** `0.42 s`, `12.3 s`, `2 min 5 s`, from seconds. */
export function duration(seconds: number): string {
  if (!Number.isFinite(seconds) || seconds < 0) return '';
  if (seconds < 0.001) return '< 1 ms';
  if (seconds < 0.1) return `${Math.round(seconds * 1000)} ms`;
  if (seconds < 10) return `${seconds.toFixed(2)} s`;
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const all = Math.round(seconds);
  const minutes = Math.floor(all / 60);
  return minutes < 60
    ? `${minutes} min ${all % 60} s`
    : `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** `1,234`, whatever the language of the browser: the page is in English. */
export function count(number: number): string {
  return number.toLocaleString('en');
}

/** `1 line`, `2 lines`. */
export function counted(number: number, one: string, many = `${one}s`): string {
  return `${count(number)} ${number === 1 ? one : many}`;
}

/** `812 bytes`, `4.1 kB`, `5.0 MB`. */
export function size(bytes: number): string {
  if (bytes < 1000) return counted(bytes, 'byte');
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return `${(bytes / 1_000_000).toFixed(1)} MB`;
}

/** An amount as it came (`0.00140`), without the zeros that say nothing. */
export function amount(decimal: string): string {
  if (!/^-?\d+\.\d+$/.test(decimal)) return decimal;
  const short = decimal.replace(/0+$/, '');
  return short.endsWith('.') ? short.slice(0, -1) : short;
}

/** The time of day, from milliseconds since 1970. */
export function clock(milliseconds: number): string {
  return new Date(milliseconds).toLocaleTimeString('en-GB', {
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
}

/** `tool_error` as `tool error`. */
export function spaced(code: string): string {
  return code.replaceAll('_', ' ');
}

/** `text` with a capital letter and a full stop, where it has none. */
export function sentence(text: string): string {
  if (text === '') return '';
  const begun = text.charAt(0).toUpperCase() + text.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
