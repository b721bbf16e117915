/** The flat tags of an organization: the number of workspaces with each, and deletion from all of them. */
import { useQuery } from "@tanstack/react-query";
import { useParams } from "@tanstack/react-router";
import { useAction } from "../../api/actions.ts";
import type { Resource } from "../../api/client.ts";
import { useRights } from "../../api/queries.ts";
import { paths } from "../../paths.ts";
import { useAddress } from "../../ui/address.ts";
import { DangerButton } from "../../ui/dialog.tsx";
import { Link } from "../../ui/link.tsx";
import { List } from "../../components/list.tsx";
import { Page } from "../../ui/page.tsx";
import { Empty } from "../../components/states.tsx";
import { counted, figure, When } from "../../ui/text.tsx";
import { tags, tagOrder } from "../../api/list-queries.ts";

export default function TagsPage() {
  const { organization } = useParams({ from: "/inside/$organization" });
  const { search } = useAddress();
  const sort = tagOrder(search);
  const rights = useRights(organization);
  const query = useQuery(tags(organization, search));
  return (
    <Page
      title="Tags"
      crumbs={[{ label: organization, to: paths.organization(organization) }]}
      about="Tags for finding and selecting workspaces. Key-value tags are listed on each workspace and project."
    >
      <List
        one="tag"
        label="Tags"
        query={query}
        keyOf={({ id }) => id}
        sort={sort}
        empty={<Empty title="No tags yet">Add a tag in a workspace's settings. It then appears here.</Empty>}
        columns={() => [
          {
            title: "Name",
            sort: "name",
            cell: ({ attributes }) => (
              <Link to={paths.workspaces(organization, { tags: attributes.name })}>{attributes.name}</Link>
            ),
          },
          { title: "Workspaces", isFigure: true, cell: ({ attributes }) => figure(attributes["instance-count"]) },
          {
            title: "Created",
            isExtra: true,
            sort: "created-at",
            cell: ({ attributes }) => <When time={attributes["created-at"]} />,
          },
          {
            title: "Actions",
            width: 1,
            cell: (tag) => rights?.["can-delete-tags"] && <Delete organization={organization} tag={tag} />,
          },
        ]}
      />
    </Page>
  );
}

function Delete({ organization, tag }: { readonly organization: string; readonly tag: Resource<"tags"> }) {
  const { name, "instance-count": count } = tag.attributes;
  const remove = useAction("DELETE /organizations/{organization_name}/tags", { done: `Deleted tag ${name}.` });
  return (
    <DangerButton
      isQuiet
      verb="Delete"
      label={`Delete ${name}`}
      title={`Delete tag ${name}?`}
      isBusy={remove.isPending}
      onConfirm={() =>
        remove.mutate({
          path: { organization_name: organization },
          body: { data: [{ type: "tags", id: tag.id }] },
        })
      }
    >
      This removes the tag from {counted(count, "workspace")}. Searches and <code>cloud</code> blocks that use it no
      longer find them.
    </DangerButton>
  );
}
