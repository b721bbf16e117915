/** The SSH key with which a connection clones: for providers whose code comes over SSH, and for submodules. It goes in and never comes out. */
import { Button, Text } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { useAction } from "../../api/actions.ts";
import { asking } from "../../api/queries.ts";
import { ActionForm, useDraft } from "../../ui/form.tsx";
import { Section } from "../../ui/page.tsx";
import { PrivateKeyInput } from "../../ui/private-key.tsx";
import { Asked, LoadingRows } from "../../ui/states.tsx";

export function CloningKey({ tokenId }: { readonly tokenId: string }) {
  const path = { oauth_token_id: tokenId };
  const query = useQuery(asking("GET /oauth-tokens/{oauth_token_id}", { path }));
  const draft = useDraft({ "ssh-key": "" });
  const save = useAction("PATCH /oauth-tokens/{oauth_token_id}", {
    done: "The connection clones with this key from now on.",
    refusal: "form",
    after: () => draft.reset(),
  });
  const remove = useAction("PATCH /oauth-tokens/{oauth_token_id}", { done: "The connection has no SSH key any more." });
  const bodyOf = (key: string | null) => ({
    path,
    body: { data: { type: "oauth-tokens", attributes: { "ssh-key": key } } } as const,
  });
  return (
    <Section
      title="SSH key"
      about="Bitbucket Data Center and Azure DevOps give code over SSH where there is one; with any provider it serves submodules over SSH."
    >
      <Asked query={query} loading={<LoadingRows rows={1} />}>
        {({ data }) =>
          data.attributes["has-ssh-key"] ? (
            <>
              <Text>There is one; it is never shown.</Text>
              <Button
                variant="default"
                mr="auto"
                loading={remove.isPending}
                onClick={() => remove.mutate(bodyOf(null))}
              >
                Take the key away
              </Button>
            </>
          ) : (
            <ActionForm
              draft={draft}
              action={save}
              verb="Use this key"
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
