/** A program, such as `terraform login`, asks for a token: the person says yes or no, and for how long. */
import { Alert, Box, Button, Select, Text, TextInput } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useState } from "react";
import { useAction } from "../../api/actions.ts";
import { account } from "../../api/queries.ts";
import { useAddress, type Search } from "../../ui/address.ts";
import { ActionForm, useDraft } from "../../ui/form.tsx";
import { inDays } from "../../ui/moment.tsx";
import { Page } from "../../ui/page.tsx";

const lifetimes = [
  { value: "1", label: "a day" },
  { value: "7", label: "7 days" },
  { value: "30", label: "30 days" },
  { value: "90", label: "90 days" },
  { value: "365", label: "a year" },
];

/** What the program asked, word for word: the server looks at it again. */
const askedIn = (search: Search) => ({
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
  const answer = useAction("POST /authorizations", {
    done: "Answered. You can go back to the program.",
    refusal: "form",
    after: ({ data }) => {
      setDone(true);
      window.location.assign(data.attributes["redirect-url"]);
    },
  });
  const bodyOf = (attributes: object) =>
    ({ body: { data: { type: "authorizations", attributes: { ...askedIn(search), ...attributes } } } }) as never;
  return (
    <Page title="A program asks for a token">
      <Box maw="34rem">
        {isDone ? (
          <Alert color="teal" role="status">
            Answered. You can close this page and go back to the program.
          </Alert>
        ) : (
          <ActionForm
            draft={draft}
            action={answer}
            verb="Allow it"
            input={({ name, days }) => bodyOf({ approve: true, name, "expires-at": inDays(Number(days)) })}
          >
            <Text>
              <b>{search["client_id"] ?? "A program"}</b> on your own machine asks for a token of <b>{me}</b>. With it,
              it may do whatever you may do. If you have not just called <code>terraform login</code>, refuse.
            </Text>
            <TextInput
              label="What the token is called"
              description="In the list of your tokens, where it can be revoked."
              {...draft.getInputProps("name")}
            />
            <Select label="It works for" data={lifetimes} {...draft.getInputProps("days")} />
          </ActionForm>
        )}
        {!isDone && (
          <Button
            mt="xs"
            variant="default"
            loading={answer.isPending}
            onClick={() => answer.mutate(bodyOf({ approve: false }))}
          >
            Refuse
          </Button>
        )}
      </Box>
    </Page>
  );
}
