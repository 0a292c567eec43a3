// threads ALLOCATIONS TREES DEPTH SLOTS STORES PUTS THREADS RUNS: the work of bench/threads.c. Prints for each kind of work the
// seconds of one thread and of THREADS threads, which each do the same amount; medians of RUNS, after one that does not count.
package main

import (
	"fmt"
	"os"
	"sort"
	"strconv"
	"sync"
	"time"
	"unsafe"
)

type node struct{ left, right *node }

// A branch of a map leads to branches, or to nodes.
type branch struct{ below [16]unsafe.Pointer }

// Sinks of two threads lie in different lines.
type sink struct {
	last  *node
	now   *branch
	apart [112]byte
}

var sinks [64]sink
var allocations, trees, depth, slots, stores, puts int

func allocate(thread int) {
	for i := 0; i < allocations; i++ {
		sinks[thread].last = &node{}
	}
}

func tree(depth int) *node {
	if depth == 0 {
		return &node{}
	}
	return &node{tree(depth - 1), tree(depth - 1)}
}

func growTrees(thread int) {
	for i := 0; i < trees; i++ {
		sinks[thread].last = tree(depth)
	}
}

func cache(thread int) {
	table := make([]*node, slots)
	random := uint64(1)
	for i := 0; i < stores; i++ {
		random = random*6364136223846793005 + 1442695040888963407
		table[(random>>33)%uint64(slots)] = &node{}
	}
	sinks[thread].last = table[0]
}

func put(old *branch, key uint64, level uint) *branch {
	at := key >> (4 * level) & 15
	fresh := &branch{}
	if old != nil {
		*fresh = *old
	}
	if level == 0 {
		fresh.below[at] = unsafe.Pointer(&node{})
	} else {
		fresh.below[at] = unsafe.Pointer(put((*branch)(fresh.below[at]), key, level-1))
	}
	return fresh
}

func persist(thread int) {
	random := uint64(1)
	for i := 0; i < puts; i++ {
		random = random*6364136223846793005 + 1442695040888963407
		sinks[thread].now = put(sinks[thread].now, random>>33, 3)
	}
}

func seconds(work func(int), count int) float64 {
	var all sync.WaitGroup
	begin := time.Now()
	for i := 0; i < count; i++ {
		all.Add(1)
		go func(thread int) {
			work(thread)
			all.Done()
		}(i)
	}
	all.Wait()
	return time.Since(begin).Seconds()
}

func median(work func(int), count, runs int) float64 {
	all := make([]float64, runs)
	seconds(work, count)
	for i := range all {
		all[i] = seconds(work, count)
	}
	sort.Float64s(all)
	return all[runs/2]
}

func main() {
	var n [8]int
	for i := range n {
		n[i], _ = strconv.Atoi(os.Args[i+1])
	}
	allocations, trees, depth, slots, stores, puts = n[0], n[1], n[2], n[3], n[4], n[5]
	works := []func(int){allocate, growTrees, cache, persist}
	for i, name := range []string{"allocate", "trees", "cache", "map"} {
		fmt.Println(name, median(works[i], 1, n[7]), median(works[i], n[6], n[7]))
	}
}
