/** Errors of the API, with the server's own text. */

export interface Problem {
  readonly title: string;
  readonly detail: string;
  readonly pointer: string | undefined;
}

export class ApiError extends Error {
  readonly status: number;
  readonly problems: readonly Problem[];
  readonly operation: string | undefined;

  constructor(status: number, problems: readonly Problem[], operation?: string) {
    super(problems.map(({ detail }) => detail).join(" "));
    this.status = status;
    this.problems = problems;
    this.operation = operation;
  }

  /** Not `isNotFound`: the router treats errors with that property as its own. */
  get isMissing(): boolean {
    return this.status === 404;
  }

  get isStale(): boolean {
    return this.status === 412;
  }
}

const subjects: Record<string, string> = { varset: "variable set", site_agent_pool: "agent pool" };

/** Names the last resource in the operation's path. */
export function notFoundTitle(error: ApiError): string {
  const name = [...(error.operation ?? "").matchAll(/\{(\w+?)(_id|_name)?\}/g)].at(-1)?.[1] ?? "";
  const subject = (subjects[name] ?? name).replaceAll("_", " ");
  return subject === "" ? "Not found" : `${subject[0]!.toUpperCase()}${subject.slice(1)} not found`;
}

export const notFoundDetail = "It doesn't exist, or you don't have access to it.";

export const unreachable = (): ApiError =>
  new ApiError(0, [
    {
      title: "can't reach the server",
      detail: "The server did not respond. Check your network connection and try again. Your input is kept.",
      pointer: undefined,
    },
  ]);

const ended = "Your session has ended. Sign in again in another tab, then try again here. Your input is kept.";

/** The server's own text addresses API clients. */
export class SessionEnded extends ApiError {
  constructor() {
    super(401, [{ title: "signed out", detail: ended, pointer: undefined }]);
  }
}

export function problemsIn(response: Response, text: string): Problem[] {
  try {
    const { errors } = JSON.parse(text) as {
      errors: { title: string; detail?: string; source?: { pointer?: string } }[];
    };
    return errors.map(({ title, detail, source }) => ({ title, detail: detail ?? title, pointer: source?.pointer }));
  } catch {
    return [
      {
        title: response.statusText,
        detail: `The server responded with status ${response.status} and gave no reason. Try again in a moment.`,
        pointer: undefined,
      },
    ];
  }
}

export function sortProblems(
  error: unknown,
  fields: readonly string[],
): { byField: Record<string, string>; rest: string[] } {
  const problems =
    error instanceof ApiError ? error.problems : [{ title: "", detail: String(error), pointer: undefined }];
  const byField: Record<string, string> = {};
  const rest: string[] = [];
  for (const { detail, pointer } of problems) {
    const field = fields.find(
      (name) =>
        pointer === `/data/attributes/${name}` ||
        pointer?.startsWith(`/data/attributes/${name}/`) ||
        // An attribute that is an object may have a field for each member.
        (pointer?.startsWith("/data/attributes/") && pointer.endsWith(`/${name}`)) ||
        pointer?.startsWith(`/data/relationships/${name}`) ||
        pointer?.endsWith(`/meta/${name}`),
    );
    if (field === undefined) rest.push(detail);
    else byField[field] = [byField[field], detail].filter(Boolean).join(" ");
  }
  return { byField, rest };
}
