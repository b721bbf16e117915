/** The lock of a workspace: holder, reason, and since when. */
import { Text } from "@mantine/core";
import { includedIn, type Resource } from "../../api/client.ts";
import { Expires, When } from "../../ui/text.tsx";

interface LockedByProps {
  readonly workspace: Resource<"workspaces">;
  readonly included: readonly any[] | undefined;
}

export function LockedBy({ workspace, included }: LockedByProps) {
  const { locked, "locked-at": since, "locked-reason": reason, "lock-expires-at": end } = workspace.attributes;
  if (!locked)
    return (
      <Text span inherit c="dimmed">
        –
      </Text>
    );
  // The run is shown elsewhere, and people don't recognise its id.
  const isRun = workspace.relationships["locked-by"]?.data?.type === "runs";
  return (
    <span>
      {isRun ? "a run" : holderOf({ workspace, included })}
      {reason && <>, “{reason}”</>}
      {since && (
        <Text span inherit c="dimmed">
          {" "}
          <When time={since} />
          {end && (
            <>
              , <Expires time={end} isSentence />
            </>
          )}
        </Text>
      )}
    </span>
  );
}

export function holderOf({ workspace, included }: LockedByProps): string {
  const holder = workspace.relationships["locked-by"]?.data as { type: string; id: string } | null | undefined;
  if (!holder) return "someone";
  const known = includedIn({ included: included ?? [] }, holder.type as "users", holder.id) as any;
  return known?.attributes.username ?? known?.attributes.name ?? holder.id;
}
