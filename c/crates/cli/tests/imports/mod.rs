//! The imports between the files of a crate.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use syn::{
    Attribute, Expr, Item, Macro, Token, UseTree, Visibility, punctuated::Punctuated, visit::Visit,
};

/// The path of a module in its crate, such as `["read", "fields"]`; the root's is empty.
pub type Module = Vec<String>;

/// Names the files that import each other in a circle, each with the ones that it imports of them.
pub fn circles(sources: &Path) -> Vec<String> {
    let mut edges = edges(sources);
    // A file that imports none of those that are left, or that none of them imports, is in no circle.
    loop {
        let count = edges.len();
        let importing: BTreeSet<Module> = edges.iter().map(|(from, _)| from.clone()).collect();
        edges.retain(|(_, to)| importing.contains(to));
        let imported: BTreeSet<Module> = edges.iter().map(|(_, to)| to.clone()).collect();
        edges.retain(|(from, _)| imported.contains(from));
        if edges.len() == count {
            break;
        }
    }
    let name = |module: &Module| format!("crate::{}", module.join("::"));
    edges.iter().map(|(from, to)| format!("{} imports {}", name(from), name(to))).collect()
}

/// Lists which file imports which, behind the exports of others. It does not see imports in a macro's own
/// syntax, nor those of tests.
pub fn edges(sources: &Path) -> BTreeSet<(Module, Module)> {
    let mut files = BTreeMap::new();
    find(sources, &Module::new(), &mut files);
    let modules: BTreeSet<Module> = files.keys().cloned().collect();
    let (mut imports, mut exports) = (Vec::new(), BTreeMap::new());
    for (module, text) in &files {
        let at = module.clone();
        let mut reader = Reader { modules: &modules, at, imports: vec![], exports: &mut exports };
        reader.visit_file(&syn::parse_file(text).expect("it compiles"));
        imports.extend(reader.imports.into_iter().map(|path| (module.clone(), path)));
    }
    let mut edges = BTreeSet::new();
    for (module, path) in imports {
        let of = origin(path, &modules, &exports);
        if of != module {
            edges.insert((module, of));
        }
    }
    edges
}

/// Reads the files below a folder, by the modules that they are.
fn find(folder: &Path, above: &Module, files: &mut BTreeMap<Module, String>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let mut module = above.clone();
        if path.is_dir() {
            module.push(name.to_owned());
            find(&path, &module, files);
            continue;
        }
        match name {
            // A library's program imports it as another crate would.
            "main" if folder.join("lib.rs").exists() => continue,
            "lib" | "main" | "mod" => {}
            _ => module.push(name.to_owned()),
        }
        if path.extension().is_some_and(|extension| extension == "rs") {
            files.insert(module, fs::read_to_string(&path).unwrap());
        }
    }
}

/// Returns the module that defines something, behind the exports of other modules.
fn origin(
    mut path: Vec<String>,
    modules: &BTreeSet<Module>,
    exports: &BTreeMap<Vec<String>, Vec<String>>,
) -> Module {
    loop {
        let depth = (0..=path.len()).rev().find(|depth| modules.contains(&path[..*depth]));
        let depth = depth.expect("the root is a module");
        let item = path.len().min(depth + 1);
        match exports.get(&path[..item]) {
            Some(exported) if item > depth && *exported != path[..item] => {
                path.splice(..item, exported.iter().cloned());
            }
            _ => return path[..depth].to_vec(),
        }
    }
}

struct Reader<'a> {
    modules: &'a BTreeSet<Module>,
    /// Module that is read: the file's, or one within it.
    at: Module,
    /// The paths within the crate that are used.
    imports: Vec<Vec<String>>,
    /// Exported paths, by the path under which they are exported.
    exports: &'a mut BTreeMap<Vec<String>, Vec<String>>,
}

impl Reader<'_> {
    /// Returns the path from the crate's root; `None` for a path of another crate or a local one.
    fn resolve(&self, path: &[String]) -> Option<Vec<String>> {
        let supers = path.iter().take_while(|name| *name == "super").count();
        let (base, rest) = match path.first()?.as_str() {
            "crate" => (&[][..], &path[1..]),
            "self" => (&self.at[..], &path[1..]),
            "super" => (&self.at[..self.at.len().checked_sub(supers)?], &path[supers..]),
            _ => (&self.at[..], path),
        };
        let resolved = [base, rest].concat();
        let is_own = path[0] == "crate" || path[0] == "self" || supers > 0;
        (is_own || self.modules.contains(&resolved[..=base.len()])).then_some(resolved)
    }

    fn tree(&mut self, tree: &UseTree, above: &[String], is_export: bool) {
        let with = |name: &dyn ToString| [above, &[name.to_string()]].concat();
        let (path, name) = match tree {
            UseTree::Path(path) => {
                return self.tree(&path.tree, &with(&path.ident), is_export);
            }
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.tree(tree, above, is_export));
            }
            UseTree::Name(name) if name.ident == "self" => (above.to_vec(), above.last().cloned()),
            UseTree::Name(name) => (with(&name.ident), Some(name.ident.to_string())),
            UseTree::Rename(rename) => (with(&rename.ident), Some(rename.rename.to_string())),
            UseTree::Glob(_) => (above.to_vec(), None),
        };
        let Some(path) = self.resolve(&path) else { return };
        match name.filter(|_| is_export) {
            Some(name) => drop(self.exports.insert([&self.at[..], &[name]].concat(), path)),
            None => self.imports.push(path),
        }
    }
}

impl<'ast> Visit<'ast> for Reader<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        let attributes: &[Attribute] = match item {
            Item::Mod(item) => &item.attrs,
            Item::Fn(item) => &item.attrs,
            Item::Use(item) => &item.attrs,
            Item::Impl(item) => &item.attrs,
            _ => &[],
        };
        let is_test = |attribute: &Attribute| {
            attribute.path().is_ident("cfg")
                && attribute.meta.require_list().is_ok_and(|list| list.tokens.to_string() == "test")
        };
        if attributes.iter().any(is_test) {
            return;
        }
        match item {
            Item::Use(item) => {
                let is_export = !matches!(item.vis, Visibility::Inherited);
                self.tree(&item.tree, &[], is_export);
            }
            Item::Mod(item) => {
                self.at.push(item.ident.to_string());
                syn::visit::visit_item_mod(self, item);
                self.at.pop();
            }
            _ => syn::visit::visit_item(self, item),
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let names: Vec<String> = path.segments.iter().map(|one| one.ident.to_string()).collect();
        if names.len() > 1
            && let Some(path) = self.resolve(&names)
        {
            self.imports.push(path);
        }
        syn::visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        if let Ok(arguments) =
            called.parse_body_with(Punctuated::<Expr, Token![,]>::parse_terminated)
        {
            // The parsed macro is gone when this returns, so another reader visits it.
            let (at, modules) = (self.at.clone(), self.modules);
            let mut reader = Reader { modules, at, imports: vec![], exports: self.exports };
            for argument in &arguments {
                Visit::visit_expr(&mut reader, argument);
            }
            self.imports.append(&mut reader.imports);
        }
    }
}
