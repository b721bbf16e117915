/** The authorization resource: a user's decision on a program's request for a token. */
import { defineResource } from "../../../jsonapi/define.ts";
import { flag, text, timestamp } from "../../../jsonapi/schemas.ts";
import { attributeFault, type Fault } from "../../../kernel/errors.ts";
import { kebab } from "../../../kernel/names.ts";
import { type AuthorizationRequest, authorizationRequestFaults } from "./reads.ts";

export interface AuthorizationView {
  readonly id: string;
  readonly redirectUrl: string;
}

const requestParameter = (doc: string) => [text({ min: 1, max: 2048 }), doc, { column: false, shown: false }] as const;

const bodyFaults = (attributes: Partial<AuthorizationRequest>): Fault[] =>
  authorizationRequestFaults(attributes).map(({ parameter, sentence }) => attributeFault(kebab(parameter), sentence));

export const authorizations = defineResource<AuthorizationView>()(({ requiredFixed, fixed, readOnly }) => ({
  type: "authorizations",
  doc: "A user's decision on a program's request for a token (OAuth 2.0 authorization code flow with PKCE).",
  id: (authorization) => authorization.id,
  bodyFaults,
  attributes: {
    "client-id": requiredFixed(...requestParameter("The program that requests the token: `terraform-cli`.")),
    "redirect-uri": requiredFixed(
      ...requestParameter("Where the program waits for the response, on the user's own machine."),
    ),
    "response-type": requiredFixed(...requestParameter("Always `code`.")),
    "code-challenge": requiredFixed(...requestParameter("The PKCE code challenge.")),
    "code-challenge-method": requiredFixed(...requestParameter("Always `S256`.")),
    state: requiredFixed(...requestParameter("An opaque value that is returned to the program unchanged.")),
    approve: requiredFixed(
      flag(),
      "Whether the program gets a token. If false, it is informed that the user refused.",
      {
        column: false,
        shown: false,
      },
    ),
    name: fixed(text({ min: 1, max: 256 }), "The description of the token.", {
      default: "terraform login",
      shown: false,
    }),
    "expires-at": fixed(timestamp().nullable(), "When the token expires; null for never. The default is 30 days.", {
      column: false,
      shown: false,
    }),
    "redirect-url": readOnly(text(), "The URL that sends the browser back to the program with the response."),
  },
  relationships: {},
  operations: {
    createAuthorization: {
      method: "POST",
      path: "/authorizations",
      summary: "Authorize a program to get a token, or refuse",
      needs:
        "a user who has signed in with a password or through an SSO provider; a token can't authorize another token",
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
