/** A session: somebody who has signed in in a browser. It is a token of a kind of its own, which only a cookie carries. */
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, text, timestamp } from "../../../jsonapi/schemas.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { tokenLengthMax } from "../../../kernel/ids.ts";
import { passwordLengthMax } from "../../../kernel/passwords.ts";

export interface SessionView {
  readonly id: string;
  readonly userId: string;
  /** What the browser called itself. */
  readonly description: string | null;
  readonly createdAt: string;
  readonly expiredAt: string | null;
  readonly lastUsedAt: string | null;
  /** Whether the request that shows it came by it. */
  readonly isCurrent: boolean;
  /** Only of one that just ended, and began by a provider that signs people out too. */
  readonly signOutUrl?: string;
}

interface Credentials {
  readonly username?: string;
  readonly password?: string;
  readonly token?: string;
}

/** Either a name and a password, or a token. */
function credentialFaults({ username, password, token }: Credentials): Fault[] {
  if (token !== undefined)
    return username === undefined && password === undefined
      ? []
      : [attributeFault("token", "Token can't be sent beside a username and a password")];
  return [
    ...(username === undefined ? [attributeFault("username", "Username can't be blank")] : []),
    ...(password === undefined ? [attributeFault("password", "Password can't be blank")] : []),
  ];
}

const taken = { column: false, shown: false, audited: false } as const;
const needs = "the user whose sessions they are";

export const sessions = defineResource<SessionView>()(({ fixed, readOnly, toOne }) => ({
  type: "sessions",
  doc: "Somebody who has signed in in a browser. A cookie that no script can read carries it.",
  id: (session) => session.id,
  bodyFaults: credentialFaults,
  attributes: {
    username: fixed(text({ min: 1, max: 320 }), "The user's name or e-mail address, ignoring case.", taken),
    password: fixed(text({ min: 1, max: passwordLengthMax }), "The user's password.", taken),
    token: fixed(text({ min: 1, max: tokenLengthMax }), "Instead of both: a token of the user's.", taken),
    current: readOnly(flag(), "Whether the request came by this session.", {
      from: (session) => session.isCurrent,
      audited: false,
    }),
    "user-agent": readOnly(text().nullable(), "What the browser called itself.", {
      from: (session) => session.description,
    }),
    "created-at": readOnly(timestamp(), "When the user signed in."),
    "expires-at": readOnly(timestamp().nullable(), "When the session ends by itself.", {
      from: (session) => session.expiredAt,
    }),
    "last-used-at": readOnly(timestamp().nullable(), "When it was last used, to within a few seconds.", {
      audited: false,
    }),
    "sign-out-url": readOnly(
      text(),
      "Where the browser goes to sign out at the provider, too; only in the answer that ends a session.",
      { from: (session) => session.signOutUrl, audited: false },
    ),
  },
  relationships: {
    user: toOne("users", "Who has signed in.", { id: ({ userId }) => userId }),
  },
  operations: {
    createSession: {
      method: "POST",
      path: "/sessions",
      summary: "Sign in: the answer sets the cookie cadastre_session",
      needs: "nobody in particular: whoever knows a password or a token",
      open: true,
      body: "create",
      answer: "created",
      example: { data: { type: "sessions", attributes: { username: "ada", password: "correct horse battery" } } },
    },
    listSessions: {
      method: "GET",
      path: "/sessions",
      summary: "List where the caller has signed in",
      needs,
      query: { paged: true },
      answer: "list",
    },
    deleteSession: {
      method: "DELETE",
      path: "/sessions/:session_id",
      summary:
        "End one of the caller's sessions: sign out there; 204, or the session with its sign-out-url where its provider signs people out, too",
      needs,
      answer: "document",
      elseNothing: "It has ended, and there is nowhere else to sign out of.",
    },
    deleteSessions: {
      method: "DELETE",
      path: "/sessions",
      summary:
        "End all of the caller's sessions: sign out everywhere; 204, or the present one with its sign-out-url where its provider signs people out, too",
      needs,
      answer: "document",
      elseNothing: "It has ended, and there is nowhere else to sign out of.",
    },
  },
}));
