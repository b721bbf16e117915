/** Pickers for a repository and a branch from the provider. Names that the provider doesn't list can be typed. */
import { Alert, Autocomplete, Loader, type AutocompleteProps } from "@mantine/core";
import { useDebouncedValue } from "@mantine/hooks";
import { useQuery, type UseQueryResult } from "@tanstack/react-query";
import { useState } from "react";
import { pagedQuery } from "../../api/queries.ts";

const size = 50;
/** Each search queries the provider. */
const soonMs = 300;

interface RepositoryFieldProps extends Pick<
  AutocompleteProps,
  "label" | "placeholder" | "description" | "error" | "onChange"
> {
  readonly value?: string;
  readonly "data-autofocus"?: boolean;
}

function useSearched(value: string): { readonly text: string; readonly onChosen: (value: string) => void } {
  const [chosen, setChosen] = useState(value);
  const [text] = useDebouncedValue(value === chosen ? "" : value.trim(), soonMs);
  return { text, onChosen: setChosen };
}

interface RepositoryInputProps extends RepositoryFieldProps {
  readonly tokenId: string;
}

export function RepositoryInput({ tokenId, ...field }: RepositoryInputProps) {
  const { text, onChosen } = useSearched(field.value ?? "");
  const query = useQuery({
    ...pagedQuery("GET /oauth-tokens/{oauth_token_id}/repositories", {
      path: { oauth_token_id: tokenId },
      query: { "search[name]": text, "page[size]": size },
    }),
    retry: false,
  });
  const names = query.data?.data.map(({ attributes }) => attributes.identifier) ?? [];
  return <ProviderSelect {...field} many="repositories" {...{ query, names, text, onChosen }} />;
}

interface BranchInputProps extends RepositoryInputProps {
  readonly repository: string;
}

/** Loads on focus: until then the repository's name may be half typed. */
export function BranchInput({ tokenId, repository, ...field }: BranchInputProps) {
  const { text, onChosen } = useSearched(field.value ?? "");
  const [isAsked, setAsked] = useState(false);
  const query = useQuery({
    ...pagedQuery("GET /oauth-tokens/{oauth_token_id}/branches", {
      path: { oauth_token_id: tokenId },
      query: { repository, "search[name]": text, "page[size]": size },
    }),
    enabled: isAsked && repository !== "",
    retry: false,
  });
  const names = query.data?.data.map(({ attributes }) => attributes.name) ?? [];
  return (
    <ProviderSelect {...field} many="branches" {...{ query, names, text, onChosen }} onFocus={() => setAsked(true)} />
  );
}

interface ListedProps extends RepositoryFieldProps {
  readonly many: string;
  readonly query: UseQueryResult<{ readonly meta?: { readonly "is-cut-short"?: boolean } | undefined }>;
  readonly names: readonly string[];
  readonly text: string;
  readonly onChosen: (value: string) => void;
  readonly onFocus?: () => void;
}

function ProviderSelect({ many, query, names, text, onChosen, ...field }: ListedProps) {
  const { isFetching, isError, isSuccess, error, data } = query;
  return (
    <>
      <Autocomplete
        {...field}
        size="sm"
        data={[...names]}
        maxDropdownHeight={240}
        onOptionSubmit={onChosen}
        filter={({ options }) => options}
        rightSection={isFetching ? <Loader size={14} role="status" aria-label={`Loading ${many}`} /> : undefined}
      />
      {isError && (
        <Alert color="yellow" p="xs" role="status" title={`Couldn't list ${many}`}>
          {String(error.message)} You can type the name instead.
        </Alert>
      )}
      {isSuccess && !isFetching && (
        <MissingNameHint {...{ many, text, count: names.length }} isCutShort={data.meta?.["is-cut-short"]} />
      )}
    </>
  );
}

interface MissingNameHintProps {
  readonly many: string;
  readonly text: string;
  readonly count: number;
  readonly isCutShort: boolean | undefined;
}

function MissingNameHint({ many, text, count, isCutShort }: MissingNameHintProps) {
  if (isCutShort)
    return (
      <Alert color="gray" p="xs" role="status">
        The provider has more {many} than could be searched. If yours is not listed, type its name.
      </Alert>
    );
  if (count > 0) return null;
  return (
    <Alert color="gray" p="xs" role="status">
      {text === "" ? `This connection can't see any ${many}.` : `No ${many} match "${text}".`} You can type a name
      instead.
    </Alert>
  );
}
