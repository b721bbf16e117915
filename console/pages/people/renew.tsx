/** A new link for somebody who is invited and has lost theirs. The one before stops working. */
import { Button, Stack } from "@mantine/core";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { FormDialog } from "../../ui/dialog.tsx";
import { SecretOnce } from "../../ui/secret.tsx";

export function RenewLink({ membershipId, email }: { readonly membershipId: string; readonly email: string }) {
  const [link, setLink] = useState<string>();
  const renew = useAction("POST /organization-memberships/{membership_id}/actions/renew-invitation", {
    done: `Made a new link for ${email}. The one before works no more.`,
    after: ({ data }) => setLink(data.attributes["invitation-url"]),
  });
  const close = () => setLink(undefined);
  return (
    <>
      <Button
        variant="subtle"
        size="compact-xs"
        loading={renew.isPending}
        aria-label={`New link for ${email}`}
        onClick={() => renew.mutate({ path: { membership_id: membershipId } })}
      >
        New link
      </Button>
      <FormDialog opened={link !== undefined} onClose={close} title={`The invitation of ${email}`}>
        <Stack>
          <SecretOnce title="The new link" label="The invitation's link" secret={link ?? ""} />
          <Button onClick={close} ml="auto" display="block">
            I have copied it
          </Button>
        </Stack>
      </FormDialog>
    </>
  );
}
