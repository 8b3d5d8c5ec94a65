/** Answers and failures of the server as data: nothing here throws for what a network does. */

/** Why a request came to nothing. */
export interface ApiError {
  /** The HTTP status; 0 where no answer came. */
  status: number;
  /** The server's word for it, `http_<status>` where it had none, or `unreachable`, `aborted`, `timeout`. */
  code: string;
  /** A sentence for people. */
  message: string;
}

/** What a call came to. */
export type Result<T> = { ok: true; value: T } | { ok: false; error: ApiError };

/** Error bodies are small; of anything longer the beginning has to do. */
const MAX_ERROR_TEXT = 500;

/** What a refusing response says: `{"error": {"code", "message"}}`, or as much as a proxy tells. */
export async function errorOf(response: Response): Promise<ApiError> {
  const { status } = response;
  const text = await response.text().catch(() => '');
  const told = toldError(text);
  return {
    status,
    code: told?.code ?? `http_${status}`,
    message: told?.message ?? `the server answered ${status} ${response.statusText}`.trimEnd(),
  };
}

function toldError(text: string): { code: string; message: string } | undefined {
  let body: { error?: { code?: unknown; message?: unknown } | null; outcome?: unknown } | null;
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    // Whoever answered was not our server.
    return undefined;
  }
  const { error, outcome } = body ?? {};
  if (typeof outcome === 'string') {
    return { code: outcome, message: `the answer was not taken: ${outcome.replaceAll('_', ' ')}` };
  }
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return undefined;
  return { code: error.code, message: error.message.slice(0, MAX_ERROR_TEXT) };
}

/** What `fetch`, or reading and parsing a body, threw. */
export function errorFrom(thrown: unknown): ApiError {
  if (thrown instanceof SyntaxError) {
    return { status: 0, code: 'not_json', message: 'the server answered with what is not JSON' };
  }
  const aborted = thrown instanceof Error && thrown.name === 'AbortError';
  const late = thrown instanceof Error && thrown.name === 'TimeoutError';
  return {
    status: 0,
    code: aborted ? 'aborted' : late ? 'timeout' : 'unreachable',
    message: aborted
      ? 'the request was given up'
      : late
        ? 'the server did not answer in time'
        : 'the server cannot be reached',
  };
}
