/** The session resource: a signed-in browser. A session is stored as a token that only a cookie carries. */
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, text, timestamp } from "../../../jsonapi/schemas.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { tokenLengthMax } from "../../../kernel/ids.ts";
import { passwordLengthMax } from "../../../kernel/passwords.ts";

export interface SessionView {
  readonly id: string;
  readonly userId: string;
  readonly description: string | null;
  readonly createdAt: string;
  readonly expiredAt: string | null;
  readonly lastUsedAt: string | null;
  readonly isCurrent: boolean;
  readonly signOutUrl?: string;
}

interface SignInCredentials {
  readonly username?: string;
  readonly password?: string;
  readonly token?: string;
}

function credentialFaults({ username, password, token }: SignInCredentials): Fault[] {
  if (token !== undefined)
    return username === undefined && password === undefined
      ? []
      : [attributeFault("token", "Token can't be combined with a username and password; send one or the other")];
  return [
    ...(username === undefined ? [attributeFault("username", "Username can't be blank")] : []),
    ...(password === undefined ? [attributeFault("password", "Password can't be blank")] : []),
  ];
}

const notStored = { column: false, shown: false, audited: false } as const;
const needs = "the user that the sessions belong to";

export const sessions = defineResource<SessionView>()(({ fixed, readOnly, toOne }) => ({
  type: "sessions",
  doc: "A signed-in browser. It is authenticated by a cookie that scripts can't read.",
  id: (session) => session.id,
  bodyFaults: credentialFaults,
  attributes: {
    username: fixed(text({ min: 1, max: 320 }), "The username or email address, ignoring case.", notStored),
    password: fixed(text({ min: 1, max: passwordLengthMax }), "The user's password.", notStored),
    token: fixed(
      text({ min: 1, max: tokenLengthMax }),
      "One of the user's tokens, instead of a username and password.",
      notStored,
    ),
    current: readOnly(flag(), "Whether this session authenticated the request.", {
      from: (session) => session.isCurrent,
      audited: false,
    }),
    "user-agent": readOnly(text().nullable(), "The browser's user agent.", {
      from: (session) => session.description,
    }),
    "created-at": readOnly(timestamp(), "When the user signed in."),
    "expires-at": readOnly(timestamp().nullable(), "When the session expires.", {
      from: (session) => session.expiredAt,
    }),
    "last-used-at": readOnly(timestamp().nullable(), "When the session was last used, accurate to a few seconds.", {
      audited: false,
    }),
    "sign-out-url": readOnly(
      text(),
      "The URL for signing out at the SSO provider. It is shown only in the response that ends a session.",
      { from: (session) => session.signOutUrl, audited: false },
    ),
  },
  relationships: {
    user: toOne("users", "The signed-in user.", { id: ({ userId }) => userId }),
  },
  operations: {
    createSession: {
      method: "POST",
      path: "/sessions",
      summary: "Sign in. The response sets the cookie cadastre_session",
      needs: "anyone with a valid password or token",
      isPublic: true,
      body: "create",
      answer: "created",
      example: { data: { type: "sessions", attributes: { username: "ada", password: "correct horse battery" } } },
    },
    listSessions: {
      method: "GET",
      path: "/sessions",
      summary: "List the caller's sessions",
      needs,
      query: { paged: true },
      answer: "list",
    },
    deleteSession: {
      method: "DELETE",
      path: "/sessions/:session_id",
      summary:
        "End one of the caller's sessions. Responds with 204, or with the session if its SSO provider has a sign-out-url",
      needs,
      answer: "document",
      noContentWhen: "The session has ended, and there is no provider to sign out of.",
    },
    deleteSessions: {
      method: "DELETE",
      path: "/sessions",
      summary:
        "End all of the caller's sessions. Responds with 204, or with the current session if its SSO provider has a sign-out-url",
      needs,
      answer: "document",
      noContentWhen: "The sessions have ended, and there is no provider to sign out of.",
    },
  },
}));
