// A small runtime in Zig: lists, and a hash table that stays while lists die. Roots are on Cradle's shadow stack.
//
//   zig build-exe -O ReleaseFast vm.zig shim.c -I CRADLE/include -L CRADLE/build -lcradle -lc && ./vm

const std = @import("std");

const Heap = opaque {};
const Mutator = opaque {};
const Type = extern struct { name: [*:0]const u8, size: usize, references: u64 = 0, items: u32 = 0 };
const references = 2;

extern fn shim_heap_new(types: [*]const Type, count: usize, message: [*]u8, room: usize) ?*Heap;
extern fn shim_new(mutator: *Mutator, id: u32, size: usize) *anyopaque;
extern fn shim_new_array(mutator: *Mutator, id: u32, length: usize) *anyopaque;
extern fn shim_store(mutator: *Mutator, object: *anyopaque, slot: *anyopaque, reference: ?*anyopaque) void;
extern fn shim_push(mutator: *Mutator, reference: ?*anyopaque) void;
extern fn shim_pop_many(mutator: *Mutator, count: usize) void;
extern fn shim_root(mutator: *Mutator, from_top: usize) *?*anyopaque;
extern fn cradle_mutator_new(heap: *Heap) ?*Mutator;
extern fn cradle_mutator_free(mutator: *Mutator) void;
extern fn cradle_heap_free(heap: *Heap) void;

// --- objects ---

const Pair = extern struct { header: u64, next: ?*Pair, key: i64, value: i64 };
const Table = extern struct {
    header: u64,
    length: u64,

    fn chain(table: *Table, key: i64) *?*Pair {
        const chains: [*]?*Pair = @ptrFromInt(@intFromPtr(table) + @sizeOf(Table));
        return &chains[@intCast(@mod(key, @as(i64, @intCast(table.length))))];
    }
};
const types = [_]Type{
    .{ .name = "pair", .size = @sizeOf(Pair), .references = 1 << (@offsetOf(Pair, "next") / 8) },
    .{ .name = "table", .size = @sizeOf(Table), .items = references },
};

// --- roots ---

// A root is an index from the bottom of the shadow stack: the object is found anew at each use, because it may move.
fn Root(comptime T: type) type {
    return struct {
        index: usize,

        fn place(root: @This(), vm: *Vm) *?*anyopaque {
            return shim_root(vm.mutator, vm.depth - 1 - root.index);
        }
        fn get(root: @This(), vm: *Vm) ?*T {
            return @ptrCast(@alignCast(root.place(vm).*));
        }
        fn set(root: @This(), vm: *Vm, object: ?*T) void {
            root.place(vm).* = object;
        }
    };
}

const Vm = struct {
    mutator: *Mutator,
    depth: usize = 0,

    fn push(vm: *Vm, comptime T: type, object: ?*T) Root(T) {
        shim_push(vm.mutator, object);
        vm.depth += 1;
        return .{ .index = vm.depth - 1 };
    }
    // Pops what was pushed since the depth was this: "defer vm.pop_to(vm.depth)" at the beginning of a function.
    fn pop_to(vm: *Vm, depth: usize) void {
        shim_pop_many(vm.mutator, vm.depth - depth);
        vm.depth = depth;
    }
    // May collect.
    fn pair(vm: *Vm, next: Root(Pair), key: i64, value: i64) *Pair {
        const made: *Pair = @ptrCast(@alignCast(shim_new(vm.mutator, 0, @sizeOf(Pair))));
        made.key = key;
        made.value = value;
        made.next = next.get(vm); // a new object needs no barrier
        return made;
    }
    // May collect.
    fn table(vm: *Vm, length: usize) *Table {
        return @ptrCast(@alignCast(shim_new_array(vm.mutator, 1, length)));
    }
};

// --- the program ---

fn reversed(vm: *Vm, list: Root(Pair)) ?*Pair {
    const depth = vm.depth;
    defer vm.pop_to(depth);
    const left = vm.push(Pair, list.get(vm));
    const made = vm.push(Pair, null);
    while (left.get(vm)) |at| {
        made.set(vm, vm.pair(made, at.key, at.value)); // at is stale from here on
        left.set(vm, left.get(vm).?.next);
    }
    return made.get(vm);
}

fn put(vm: *Vm, table: Root(Table), key: i64, value: i64) void {
    const depth = vm.depth;
    defer vm.pop_to(depth);
    const first = vm.push(Pair, table.get(vm).?.chain(key).*);
    const pair = vm.pair(first, key, value);
    const at = table.get(vm).?; // after the allocation, which may have moved the table
    shim_store(vm.mutator, at, @ptrCast(at.chain(key)), pair);
}

fn find(vm: *Vm, table: Root(Table), key: i64) ?i64 {
    var pair = table.get(vm).?.chain(key).*;
    while (pair) |at| : (pair = at.next) {
        if (at.key == key) return at.value;
    }
    return null;
}

fn run(vm: *Vm) void {
    const depth = vm.depth;
    defer vm.pop_to(depth);
    const table = vm.push(Table, vm.table(64));
    const list = vm.push(Pair, null);
    var n: i64 = 0;
    while (n < 150) : (n += 1) {
        put(vm, table, n, n * n);
        list.set(vm, vm.pair(list, n, n));
        const other = reversed(vm, list);
        if (@mod(n, 50) == 0) list.set(vm, other);
    }
    var sum: i64 = 0;
    n = 0;
    while (n < 150) : (n += 1) sum += find(vm, table, n) orelse @panic("a key is lost");
    var length: usize = 0;
    var pair = list.get(vm);
    while (pair) |at| : (pair = at.next) length += 1;
    std.debug.print("{d} in the table, {d} pairs in the list\n", .{ sum, length });
}

pub fn main() void {
    var message: [300]u8 = undefined;
    const heap = shim_heap_new(&types, types.len, &message, message.len) orelse {
        std.debug.print("vm: {s}\n", .{std.mem.sliceTo(&message, 0)});
        std.process.exit(1);
    };
    defer cradle_heap_free(heap);
    var vm = Vm{ .mutator = cradle_mutator_new(heap) orelse @panic("no memory") };
    defer cradle_mutator_free(vm.mutator);
    run(&vm);
}
