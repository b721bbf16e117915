/** The SSH key with which a connection clones: for providers whose code comes over SSH, and for submodules. It goes in and never comes out. */
import { Button, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { asking } from "../../api/queries.ts";
import { ActionForm, useDraft } from "../../components/forms.tsx";
import { Section } from "../../ui/page.tsx";
import { PrivateKeyInput } from "../../ui/inputs.tsx";
import { Asked, LoadingRows } from "../../components/states.tsx";

export function CloningKey({ tokenId }: { readonly tokenId: string }) {
  const path = { oauth_token_id: tokenId };
  const query = useQuery(asking("GET /oauth-tokens/{oauth_token_id}", { path }));
  const draft = useDraft({ "ssh-key": "" });
  const save = useAction("PATCH /oauth-tokens/{oauth_token_id}", {
    done: "Saved the SSH key.",
    refusal: "form",
    after: () => draft.reset(),
  });
  const remove = useAction("PATCH /oauth-tokens/{oauth_token_id}", { done: "Removed SSH key." });
  const bodyOf = (key: string | null) => ({
    path,
    body: { data: { type: "oauth-tokens", attributes: { "ssh-key": key } } } as const,
  });
  return (
    <Section
      title="SSH key"
      about="Bitbucket Data Center and Azure DevOps serve code over SSH when a key is set. All providers use it for submodules over SSH."
    >
      <Asked query={query} loading={<LoadingRows rows={1} />}>
        {({ data }) =>
          data.attributes["has-ssh-key"] ? (
            <>
              <Text>A key is set. It is never shown.</Text>
              <Button
                variant="default"
                mr="auto"
                loading={remove.isPending}
                onClick={() => remove.mutate(bodyOf(null))}
              >
                Remove key
              </Button>
            </>
          ) : (
            <ActionForm
              draft={draft}
              action={save}
              verb="Save key"
              isReady={draft.isDirty()}
              input={(values) => bodyOf(values["ssh-key"])}
            >
              <PrivateKeyInput minRows={2} {...draft.getInputProps("ssh-key")} />
            </ActionForm>
          )
        }
      </Asked>
    </Section>
  );
}
