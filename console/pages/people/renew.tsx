/** A new link for somebody who is invited and has lost theirs. The one before stops working. */
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { LinkOnce } from "../../ui/link-once.tsx";

export function RenewLink({ membershipId, email }: { readonly membershipId: string; readonly email: string }) {
  const [link, setLink] = useState<string>();
  const renew = useAction("POST /organization-memberships/{membership_id}/actions/renew-invitation", {
    done: `Made a new link for ${email}. The one before works no more.`,
    after: ({ data }) => setLink(data.attributes["invitation-url"]),
  });
  return (
    <LinkOnce
      verb="New link"
      label={`New link for ${email}`}
      title={`The invitation of ${email}`}
      what="The invitation's link"
      link={link}
      isBusy={renew.isPending}
      onMake={() => renew.mutate({ path: { membership_id: membershipId } })}
      onClose={() => setLink(undefined)}
    />
  );
}
