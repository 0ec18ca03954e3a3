# Makes a software bill of materials (CycloneDX 1.5, JSON) of what `cargo metadata` says: everything that the
# packages of $roots are built from, without what only their tests use.
. as $metadata
| (reduce .resolve.nodes[] as $node ({};
    .[$node.id] = [$node.deps[] | select(any(.dep_kinds[]; .kind != "dev")) | .pkg])) as $uses
| (reduce .packages[] as $package ({}; .[$package.id] = $package)) as $of
| [.packages[] | select(.name as $name | any($roots[]; . == $name)) | .id] as $begin
| ({seen: $begin, next: $begin}
    | until(.next == [];
        (([.next[] | $uses[.][]] | unique) - .seen) as $new
        | {seen: (.seen + $new), next: $new})
    | .seen) as $ids
| def purl: "pkg:cargo/\(.name)@\(.version)";
def component: {
    type: (if .source == null then "application" else "library" end),
    "bom-ref": purl, name, version,
    licenses: [{expression: (.license // "NOASSERTION" | gsub(" */ *"; " OR "))}],
    purl: purl
};
{
    bomFormat: "CycloneDX", specVersion: "1.5", version: 1,
    metadata: {component: ($metadata.packages[] | select(.name == $roots[0]) | component)},
    components: ([$of[$ids[]] | select(.name != $roots[0]) | component] | unique_by(.purl)),
    dependencies: [$ids[] as $id | {
        ref: ($of[$id] | purl),
        dependsOn: ([$of[$uses[$id][]] | purl] | unique)
    }] | unique_by(.ref)
}
