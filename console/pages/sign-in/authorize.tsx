/** Lets the user authorize or deny a program, such as `terraform login`, that requests a token. */
import { Alert, Box, Select, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import type { OperationInput } from "../../api/client.ts";
import { account } from "../../api/queries.ts";
import { useAddress } from "../../ui/address.ts";
import type { SearchParameters } from "../../paths.ts";
import { ActionForm, useDraft } from "../../components/forms.tsx";
import { inDays } from "../../ui/expiry-input.tsx";
import { Page } from "../../ui/page.tsx";

const lifetimes = [
  { value: "1", label: "1 day" },
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "1 year" },
];

/** Unchanged: the server validates them again. */
const authorizationRequest = (search: SearchParameters) => ({
  "client-id": search["client_id"],
  "redirect-uri": search["redirect_uri"],
  "response-type": search["response_type"],
  "code-challenge": search["code_challenge"],
  "code-challenge-method": search["code_challenge_method"],
  state: search["state"],
});

export default function AuthorizePage() {
  const { search } = useAddress();
  const [isDone, setDone] = useState(false);
  const me = useQuery(account()).data?.data.attributes.username ?? "";
  const draft = useDraft({ name: "terraform login", days: "30" });
  const authorization = useAction("POST /authorizations", {
    done: "Done. You can return to your terminal.",
    refusal: "form",
    after: ({ data }) => {
      setDone(true);
      window.location.assign(data.attributes["redirect-url"]);
    },
  });
  // The server refuses missing parameters.
  const bodyOf = (attributes: object) =>
    ({
      body: { data: { type: "authorizations", attributes: { ...authorizationRequest(search), ...attributes } } },
    }) as OperationInput<"POST /authorizations">;
  return (
    <Page title="Authorize Terraform CLI">
      <Box maw="34rem">
        {isDone ? (
          <Alert color="teal" role="status">
            Done. You can close this page and return to your terminal.
          </Alert>
        ) : (
          <ActionForm
            draft={draft}
            action={authorization}
            verb="Authorize"
            cancelVerb="Deny"
            onCancel={() => authorization.mutate(bodyOf({ approve: false }))}
            input={({ name, days }) => bodyOf({ approve: true, name, "expires-at": inDays(Number(days)) })}
          >
            <Text>
              Terraform CLI on your computer asks for a token for <b>{me}</b>. The token can do everything that you can.
              Deny this if you didn't just run <code>terraform login</code> or <code>tofu login</code>.
            </Text>
            <TextInput
              label="Description"
              description="Shown in your account's list of tokens, where you can revoke it."
              {...draft.getInputProps("name")}
            />
            <Select label="Expires in" data={lifetimes} {...draft.getInputProps("days")} />
          </ActionForm>
        )}
      </Box>
    </Page>
  );
}
