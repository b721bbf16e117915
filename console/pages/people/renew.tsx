/** A new link for an invited person who has lost theirs. The previous one stops working. */
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { LinkOnce } from "../../ui/link-once.tsx";

export function RenewLink({ membershipId, email }: { readonly membershipId: string; readonly email: string }) {
  const [link, setLink] = useState<string>();
  const renew = useAction("POST /organization-memberships/{membership_id}/actions/renew-invitation", {
    done: `Created a new link for ${email}. The previous link no longer works.`,
    after: ({ data }) => setLink(data.attributes["invitation-url"]),
  });
  return (
    <LinkOnce
      verb="New link"
      label={`New link for ${email}`}
      title={`Invitation of ${email}`}
      what="Invitation link"
      link={link}
      isBusy={renew.isPending}
      onMake={() => renew.mutate({ path: { membership_id: membershipId } })}
      onClose={() => setLink(undefined)}
    />
  );
}
