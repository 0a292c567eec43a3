// A small runtime in Rust: lists, and a hash table that stays while lists die. Roots are on Cradle's shadow stack.
//
//   cc -O2 -c shim.c && rustc --edition 2021 -O vm.rs -C link-arg=shim.o -l cradle && ./vm

use std::ffi::{c_char, c_void, CStr};
use std::marker::PhantomData;
use std::mem::{offset_of, size_of};
use std::ops::{Deref, DerefMut};

#[repr(C)]
struct ShimType {
    name: *const c_char,
    size: usize,
    references: u64,
    items: u32,
}
const NO_ITEMS: u32 = 0;
const REFERENCES: u32 = 2;

type Raw = *mut c_void;

extern "C" {
    fn shim_heap_new(types: *const ShimType, count: usize, message: *mut c_char, room: usize) -> Raw;
    fn shim_new(mutator: Raw, id: u32, size: usize) -> Raw;
    fn shim_new_array(mutator: Raw, id: u32, length: usize) -> Raw;
    fn shim_store(mutator: Raw, object: Raw, slot: Raw, reference: Raw);
    fn shim_push(mutator: Raw, reference: Raw);
    fn shim_pop_many(mutator: Raw, count: usize);
    fn shim_root(mutator: Raw, from_top: usize) -> *mut Raw;
    fn cradle_mutator_new(heap: Raw) -> Raw;
    fn cradle_mutator_free(mutator: Raw);
    fn cradle_heap_free(heap: Raw);
}

// --- objects ---

#[repr(C)]
struct Pair {
    header: u64,
    next: *mut Pair,
    key: i64,
    value: i64,
}
#[repr(C)]
struct Table {
    header: u64,
    length: u64,
    chains: [*mut Pair; 0],
}
const PAIR: u32 = 0;
const TABLE: u32 = 1;

// --- roots ---

/// The mutator, and how many roots are pushed. A function takes it as `&mut` if it may collect, so that the compiler
/// refuses to keep a `&Pair` of the heap over such a call.
struct Vm {
    mutator: Raw,
    depth: usize,
}

/// A root: an index from the bottom of the shadow stack. The object is found anew at each use.
struct Root<T>(usize, PhantomData<T>);
impl<T> Clone for Root<T> {
    fn clone(&self) -> Self {
        *self
    }
}
impl<T> Copy for Root<T> {}

/// Pops what was pushed since, however the scope is left.
struct Scope<'a> {
    vm: &'a mut Vm,
    from: usize,
}
impl Drop for Scope<'_> {
    fn drop(&mut self) {
        unsafe { shim_pop_many(self.vm.mutator, self.vm.depth - self.from) };
        self.vm.depth = self.from;
    }
}
impl Deref for Scope<'_> {
    type Target = Vm;
    fn deref(&self) -> &Vm {
        self.vm
    }
}
impl DerefMut for Scope<'_> {
    fn deref_mut(&mut self) -> &mut Vm {
        self.vm
    }
}

impl Vm {
    fn scope(&mut self) -> Scope<'_> {
        let from = self.depth;
        Scope { vm: self, from }
    }
    fn root<T>(&mut self, object: *mut T) -> Root<T> {
        unsafe { shim_push(self.mutator, object as Raw) };
        self.depth += 1;
        Root(self.depth - 1, PhantomData)
    }
    fn place<T>(&self, root: Root<T>) -> *mut Raw {
        unsafe { shim_root(self.mutator, self.depth - 1 - root.0) }
    }
    fn get<T>(&self, root: Root<T>) -> *mut T {
        unsafe { *self.place(root) as *mut T }
    }
    fn set<T>(&mut self, root: Root<T>, object: *mut T) {
        unsafe { *self.place(root) = object as Raw };
    }

    /// May collect: `next` is a root, because it may move.
    fn pair(&mut self, next: Root<Pair>, key: i64, value: i64) -> *mut Pair {
        unsafe {
            let pair = shim_new(self.mutator, PAIR, size_of::<Pair>()) as *mut Pair;
            (*pair).key = key;
            (*pair).value = value;
            (*pair).next = self.get(next); // a new object needs no barrier
            pair
        }
    }
    fn table(&mut self, length: usize) -> *mut Table {
        unsafe { shim_new_array(self.mutator, TABLE, length) as *mut Table }
    }
}

// --- the program ---

fn reversed(vm: &mut Vm, list: Root<Pair>) -> *mut Pair {
    let mut vm = vm.scope();
    let (start, made) = (vm.get(list), std::ptr::null_mut());
    let (left, made) = (vm.root(start), vm.root(made));
    while !vm.get(left).is_null() {
        let (key, value) = unsafe { ((*vm.get(left)).key, (*vm.get(left)).value) };
        let pair = vm.pair(made, key, value);
        vm.set(made, pair);
        let next = unsafe { (*vm.get(left)).next };
        vm.set(left, next);
    }
    vm.get(made)
}

fn chain(vm: &Vm, table: Root<Table>, key: i64) -> *mut *mut Pair {
    unsafe {
        let table = vm.get(table);
        let chains = std::ptr::addr_of_mut!((*table).chains) as *mut *mut Pair;
        chains.add(key as usize % (*table).length as usize)
    }
}
fn put(vm: &mut Vm, table: Root<Table>, key: i64, value: i64) {
    let mut vm = vm.scope();
    let first = unsafe { *chain(&vm, table, key) };
    let first = vm.root(first);
    let pair = vm.pair(first, key, value);
    let slot = chain(&vm, table, key); // after the allocation, which may have moved the table
    unsafe { shim_store(vm.mutator, vm.get(table) as Raw, slot as Raw, pair as Raw) };
}
fn get(vm: &Vm, table: Root<Table>, key: i64) -> Option<i64> {
    let mut pair = unsafe { *chain(vm, table, key) };
    while let Some(at) = unsafe { pair.as_ref() } {
        if at.key == key {
            return Some(at.value);
        }
        pair = at.next;
    }
    None
}

fn run(vm: &mut Vm) {
    let mut vm = vm.scope();
    let table = vm.table(64);
    let table = vm.root(table);
    let list = vm.root(std::ptr::null_mut());
    for n in 0..150 {
        put(&mut vm, table, n, n * n);
        let pair = vm.pair(list, n, n);
        vm.set(list, pair);
        let other = reversed(&mut vm, list);
        if n % 50 == 0 {
            vm.set(list, other);
        }
    }
    let (mut sum, mut length) = (0, 0);
    for n in 0..150 {
        sum += get(&vm, table, n).expect("a key is lost");
    }
    let mut pair = vm.get(list);
    while let Some(at) = unsafe { pair.as_ref() } {
        length += 1;
        pair = at.next;
    }
    eprintln!("{sum} in the table, {length} pairs in the list");
}

fn main() {
    let types = [
        ShimType { name: c"pair".as_ptr(), size: size_of::<Pair>(), references: 1 << (offset_of!(Pair, next) / 8), items: NO_ITEMS },
        ShimType { name: c"table".as_ptr(), size: size_of::<Table>(), references: 0, items: REFERENCES },
    ];
    let mut message = [0 as c_char; 300];
    unsafe {
        let heap = shim_heap_new(types.as_ptr(), types.len(), message.as_mut_ptr(), message.len());
        if heap.is_null() {
            eprintln!("vm: {}", CStr::from_ptr(message.as_ptr()).to_string_lossy());
            std::process::exit(1);
        }
        let mut vm = Vm { mutator: cradle_mutator_new(heap), depth: 0 };
        run(&mut vm);
        cradle_mutator_free(vm.mutator);
        cradle_heap_free(heap);
    }
}
