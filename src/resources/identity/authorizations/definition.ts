/** An authorization: what a person who has signed in answers to a program that asks for a token of theirs. */
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, text, timestamp } from "../../../jsonapi/schemas.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { kebab } from "../../../kernel/names.ts";
import { type Asked, askedFaults } from "./reads.ts";

export interface AuthorizationView {
  readonly id: string;
  /** Where the browser goes on: back to the program, with a code or with the refusal. */
  readonly redirectUrl: string;
}

const asked = (doc: string) => [text({ min: 1, max: 2048 }), doc, { column: false, shown: false }] as const;

/** The same faults as where the program sent the browser, each at its place. */
const bodyFaults = (attributes: Partial<Asked>): Fault[] =>
  askedFaults(attributes).map(({ parameter, sentence }) => attributeFault(kebab(parameter), sentence));

export const authorizations = defineResource<AuthorizationView>()(({ once, fixed, readOnly }) => ({
  type: "authorizations",
  doc: "What a person answers to a program that asks for a token of theirs, by the authorization code of OAuth 2.0 with PKCE.",
  id: (authorization) => authorization.id,
  bodyFaults,
  attributes: {
    "client-id": once(...asked("Which program asks: `terraform-cli`.")),
    "redirect-uri": once(...asked("Where the program waits for the answer: on the person's own machine.")),
    "response-type": once(...asked("Always `code`.")),
    "code-challenge": once(...asked("What the program proves later to know the origin of.")),
    "code-challenge-method": once(...asked("Always `S256`.")),
    state: once(...asked("By which the program knows its own question again.")),
    approve: once(flag(), "Whether the program gets a token. If not, it is told so.", { column: false, shown: false }),
    name: fixed(text({ min: 1, max: 256 }), "What the token is called: its description.", {
      default: "terraform login",
      shown: false,
    }),
    "expires-at": fixed(
      timestamp().nullable(),
      "When the token stops working: after 30 days, unless another time is sent, or null for never.",
      { column: false, shown: false },
    ),
    "redirect-url": readOnly(text(), "Where the browser is to go now: back to the program, with the answer."),
  },
  relationships: {},
  operations: {
    createAuthorization: {
      method: "POST",
      path: "/authorizations",
      summary: "Allow a program a token, or refuse it one",
      needs: "a user who has signed in by a password or a provider; no token allows anybody another one",
      body: "create",
      answer: "created",
      example: {
        data: {
          type: "authorizations",
          attributes: {
            "client-id": "terraform-cli",
            "redirect-uri": "http://localhost:10000/login",
            "response-type": "code",
            "code-challenge": "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM",
            "code-challenge-method": "S256",
            state: "a-state-that-nobody-guesses",
            approve: true,
            name: "my laptop",
            "expires-at": "2099-01-31T12:00:00Z",
          },
        },
      },
    },
  },
}));
