/** The readme of the current configuration, as plain text: others wrote it, so nothing in it is rendered. */
import { Paper } from "@mantine/core";
import { useQuery } from "@tanstack/react-query";
import { asking } from "../../api/queries.ts";
import { Section } from "../../ui/page.tsx";
import { Asked } from "../../components/states.tsx";

export function Readme({ workspaceId, hasReadme }: { readonly workspaceId: string; readonly hasReadme: boolean }) {
  const query = useQuery({
    ...asking("GET /workspaces/{workspace_id}", { path: { workspace_id: workspaceId }, query: { include: "readme" } }),
    enabled: hasReadme,
  });
  if (!hasReadme) return null;
  return (
    <Section title="Readme">
      <Asked query={query}>
        {({ included }) => (
          <Paper withBorder p="md" mah="32rem" style={{ overflow: "auto" }} tabIndex={0} aria-label="Readme">
            <pre className="mono" style={{ margin: 0 }}>
              {included?.find(({ type }) => type === "workspace-readme")?.["attributes"]?.["raw-markdown"]}
            </pre>
          </Paper>
        )}
      </Asked>
    </Section>
  );
}
