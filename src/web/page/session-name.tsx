/** A session's name; that of its machine is a part of its own, which is cut first where room is short. */
export function SessionName({ name }: { readonly name: string }) {
  const end = name.lastIndexOf("/") + 1;
  return (
    <>
      {end > 0 && <span class="machine">{name.slice(0, end)}</span>}
      <span>{name.slice(end)}</span>
    </>
  );
}
