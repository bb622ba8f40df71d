/** How a request to the page is refused. */
import { WraptoolError, type ErrorCode } from '../errors.ts';

export type WebCode =
  | ErrorCode
  | 'host_not_allowed'
  | 'origin_not_allowed'
  | 'not_found'
  | 'method_not_allowed'
  | 'unauthorized'
  | 'read_only'
  | 'login_refused'
  | 'too_many_logins'
  | 'too_many_streams'
  | 'body_too_large'
  | 'body_invalid';

export class WebRefusal extends Error {
  override readonly name = 'WebRefusal';
  readonly status: number;
  readonly code: WebCode;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: WebCode,
    message: string,
    headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
    this.status = status;
    this.code = code;
    this.headers = headers;
  }
}

export type ErrorBody = {
  readonly error: {
    readonly code: WebCode;
    readonly message: string;
    readonly hint: string | null;
    readonly problems: readonly string[];
  };
};

/** Errors of ours as an answer; null for a fault, of which nothing is told. */
export function answerOf(error: unknown): { status: number; body: ErrorBody } | null {
  if (error instanceof WebRefusal)
    return {
      status: error.status,
      body: { error: { code: error.code, message: error.message, hint: null, problems: [] } },
    };
  if (!(error instanceof WraptoolError) || error.code === 'internal') return null;
  const { code, message, hint = null, problems } = error;
  return { status: statuses[code] ?? 422, body: { error: { code, message, hint, problems } } };
}

const statuses: Partial<Readonly<Record<ErrorCode, number>>> = {
  request_unknown: 404,
  session_unknown: 404,
  request_stale: 409,
  request_decided: 409,
  edit_conflict: 409,
};
