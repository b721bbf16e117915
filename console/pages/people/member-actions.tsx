/** Removes a member from an organization, or creates a new link for an invited one. */
import { useAction } from "../../api/actions.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { useState } from "react";
import { LinkOnce } from "../../ui/secret.tsx";

interface RemoveMemberProps {
  readonly organization: string;
  readonly membershipId: string;
  readonly name: string;
  readonly isQuiet?: boolean;
  readonly after?: () => void;
}

export function RemoveMember({ organization, membershipId, name, isQuiet = false, after }: RemoveMemberProps) {
  const remove = useAction("DELETE /organization-memberships/{membership_id}", {
    done: `Removed ${name} from ${organization}.`,
    ...(after && { after }),
  });
  return (
    <DangerButton
      isQuiet={isQuiet}
      verb={isQuiet ? "Remove" : `Remove from ${organization}`}
      label={isQuiet ? `Remove ${name}` : `Remove from ${organization}: ${name}`}
      title={`Remove ${name} from ${organization}?`}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate({ path: { membership_id: membershipId } })}
    >
      {name} is removed from every team of {organization}, and their tokens lose access to it. Their locks stay until
      someone force-unlocks them: the Offboarding tab lists them.
    </DangerButton>
  );
}

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
