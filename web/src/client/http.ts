/** Responses and failures of the server as data: network failures throw nothing. */

/** Failure of a request. */
export interface ApiError {
  /** HTTP status; 0 if there was no response. */
  status: number;
  /** Error code of the server, else `http_<status>`, `unreachable`, `aborted` or `timeout`. */
  code: string;
  /** Error message for users. */
  message: string;
}

/** Outcome of a request. */
export type Result<T> = { ok: true; value: T } | { ok: false; error: ApiError };

/** Maximum length of an error body that is read. */
const MAX_ERROR_TEXT = 500;

/** Return the failure in an error response: `{"error": {"code", "message"}}`, or a proxy's text. */
export async function errorOf(response: Response): Promise<ApiError> {
  const { status } = response;
  const text = await response.text().catch(() => '');
  const reported = reportedError(text);
  return {
    status,
    code: reported?.code ?? `http_${status}`,
    message: reported?.message ?? `the server answered ${status} ${response.statusText}`.trimEnd(),
  };
}

function reportedError(text: string): { code: string; message: string } | undefined {
  let body: { error?: { code?: unknown; message?: unknown } | null; outcome?: unknown } | null;
  try {
    body = JSON.parse(text) as typeof body;
  } catch {
    // The response is not from a toolweave server.
    return undefined;
  }
  const { error, outcome } = body ?? {};
  if (typeof outcome === 'string') {
    return { code: outcome, message: `the answer was not taken: ${outcome.replaceAll('_', ' ')}` };
  }
  if (typeof error?.code !== 'string' || typeof error.message !== 'string') return undefined;
  return { code: error.code, message: error.message.slice(0, MAX_ERROR_TEXT) };
}

/** Return the failure for an exception of `fetch` or of reading a body. */
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
