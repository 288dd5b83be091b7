package redistest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// slots is how many hash slots the keys of a cluster are spread over.
const slots = 16384

// A node is what one line of CLUSTER NODES says of a node, as the server that was asked sees it.
type node struct {
	id      string
	flags   []string
	primary string // the id of the one it replicates, else empty
	epoch   int64  // of its configuration: of two primaries that claim a slot, the one with the higher has it
	linked  bool   // the server that was asked has a connection to it
	ranges  [][2]int64
}

func (n node) is(flag string) bool { return slices.Contains(n.flags, flag) }

// sound reports whether nobody doubts that the node is there.
func (n node) sound() bool {
	return n.linked && !slices.ContainsFunc(n.flags, func(flag string) bool {
		return flag == "fail" || flag == "fail?" || flag == "handshake" || flag == "noaddr"
	})
}

// serves reports whether the node is the primary of the slot.
func (n node) serves(slot int64) bool {
	return n.is("master") && slices.ContainsFunc(n.ranges, func(r [2]int64) bool { return r[0] <= slot && slot <= r[1] })
}

// parseNodes parses the reply to CLUSTER NODES.
func parseNodes(text string) ([]node, error) {
	var nodes []node
	for line := range strings.Lines(text) {
		n, err := parseNode(strings.Fields(line))
		if err != nil {
			return nil, fmt.Errorf("CLUSTER NODES: %w: %q", err, line)
		}
		nodes = append(nodes, n)
	}
	return nodes, nil
}

// parseNode parses the fields of a line: id, address, flags, primary, ping sent, pong received, epoch, link, slots.
func parseNode(fields []string) (n node, err error) {
	if len(fields) < 8 {
		return n, fmt.Errorf("%d fields, want 8 or more", len(fields))
	}
	n = node{id: fields[0], flags: strings.Split(fields[2], ","), linked: fields[7] == "connected"}
	if fields[3] != "-" {
		n.primary = fields[3]
	}
	if n.epoch, err = strconv.ParseInt(fields[6], 10, 64); err != nil {
		return n, err
	}
	for _, field := range fields[8:] {
		if strings.HasPrefix(field, "[") { // a slot on its way to another node, which still belongs to this one
			continue
		}
		first, last, isRange := strings.Cut(field, "-")
		if !isRange {
			last = first
		}
		var r [2]int64
		if r[0], err = strconv.ParseInt(first, 10, 64); err != nil {
			return n, err
		}
		if r[1], err = strconv.ParseInt(last, 10, 64); err != nil {
			return n, err
		}
		n.ranges = append(n.ranges, r)
	}
	return n, nil
}
