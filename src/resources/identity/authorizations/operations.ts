/** Operations on authorizations. */
import { throwIfInvalid } from "../../../kernel/errors.ts";
import { newId, newToken } from "../../../kernel/ids.ts";
import { recordEvent } from "../../shared/audit-events/writes.ts";
import { implement } from "../../shared/context.ts";
import { authorizations } from "./definition.ts";
import { redirectUrlOf } from "./reads.ts";
import { requireInteractiveUser, newAuthorization, tokenFaults } from "./rules.ts";
import { insertAuthorization } from "./store.ts";

export const authorizationResource = implement(authorizations, {
  async createAuthorization({ context, body }) {
    const { attributes } = body;
    const user = requireInteractiveUser(context.actor);
    const respond = (id: string, answer: Record<string, string>) => ({
      view: { id, redirectUrl: redirectUrlOf(attributes, answer) },
    });
    if (!attributes.approve) return respond(newId("authorizations"), { error: "access_denied" });
    const code = newToken();
    const row = newAuthorization(attributes, user.userId, code);
    throwIfInvalid(tokenFaults(row));
    await context.database.write(async (tx) => {
      await insertAuthorization(tx, user, row);
      await recordEvent(tx, context, {
        organizationId: null,
        verb: "create",
        subject: { type: authorizations.type, id: row.id },
        after: { client: row.clientId, name: row.name, "expires-at": row.tokenExpiresAt },
      });
    });
    return respond(row.id, { code });
  },
});
