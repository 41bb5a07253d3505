import CSQLite

extension GeoIndex {
    /// Registers `id MATCH satchel_near(x, y, z, chord)` on a connection: the entries that may be within a chord length
    /// of a point in space. The tree returns them nearly in order of distance, so that a query for a few can stop
    /// early.
    static func register(on handle: OpaquePointer) {
        sqlite3_rtree_query_callback(
            handle, "satchel_near",
            { info in
                guard let info, info.pointee.nParam == 4, info.pointee.nCoord == 6, let target = info.pointee.aParam,
                    let bounds = info.pointee.aCoord
                else { return SQLITE_ERROR }
                // The distance to the nearest corner, edge or face of the entry's box; 0 inside of it.
                var squares = 0.0
                for axis in 0..<3 {
                    let gap = max(bounds[2 * axis] - target[axis], target[axis] - bounds[2 * axis + 1], 0)
                    squares += gap * gap
                }
                let reach = target[3] + GeoIndex.tolerance
                info.pointee.rScore = squares
                info.pointee.eWithin = target[3] >= 0 && squares <= reach * reach ? PARTLY_WITHIN : NOT_WITHIN
                return SQLITE_OK
            }, nil, nil)
    }
}
