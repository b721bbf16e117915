/** Removes a member from an organization. */
import { useAction } from "../../api/actions.ts";
import { DangerButton } from "../../ui/dialog.tsx";

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
