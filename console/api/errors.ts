/** Refusals, as the server words them. */

export interface Problem {
  readonly title: string;
  readonly detail: string;
  /** Where in the body: `/data/attributes/name`. */
  readonly pointer: string | undefined;
}

export class ApiError extends Error {
  readonly status: number;
  readonly problems: readonly Problem[];
  /** What was asked for, as in `GET /workspaces/{workspace_id}`; for a sentence about what was not found. */
  readonly operation: string | undefined;

  constructor(status: number, problems: readonly Problem[], operation?: string) {
    super(problems.map(({ detail }) => detail).join(" "));
    this.status = status;
    this.problems = problems;
    this.operation = operation;
  }

  /** Not `isNotFound`: the router takes an error with that name for its own. */
  get isMissing(): boolean {
    return this.status === 404;
  }

  /** Somebody else changed it since it was read. */
  get isStale(): boolean {
    return this.status === 412;
  }
}

const subjects: Record<string, string> = { varset: "variable set", site_agent_pool: "agent pool" };

/** "Workspace not found": by the last thing that the operation names. */
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
      detail: "The server did not answer. Check your network connection and try again. Your input is kept.",
      pointer: undefined,
    },
  ]);

const ended = "Your session has ended. Sign in again in another tab, then try again here. Your input is kept.";

/** For people who were signed in: the server's own sentence is for programs, which have no session. */
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
        detail: `The server answered with status ${response.status} and no reason. Try again in a moment.`,
        pointer: undefined,
      },
    ];
  }
}

/** The problems that belong to fields of a form, by attribute, and the sentence for all the others. */
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
        // Of an attribute that is an object, each part may be a field.
        (pointer?.startsWith("/data/attributes/") && pointer.endsWith(`/${name}`)) ||
        pointer?.startsWith(`/data/relationships/${name}`) ||
        // What is said of one of a list of things.
        pointer?.endsWith(`/meta/${name}`),
    );
    if (field === undefined) rest.push(detail);
    else byField[field] = [byField[field], detail].filter(Boolean).join(" ");
  }
  return { byField, rest };
}
