import ParseProtocol

/// Pipelines over the objects of `AggregateStoreTests`, each with its expected result.
enum PipelineCases {
    private static let byName: JSON = ["$sort": ["name": 1]]
    private static let nameOnly: JSON = ["$project": ["_id": 0, "name": 1]]
    private static func computed(_ expression: JSON) -> JSON {
        [["$match": ["name": "a"]], ["$project": ["_id": 0, "x": expression]]]
    }

    static let all: [(JSON, JSON)] = [
        (computed(["$substr": ["abcdef", 2, 3]]), [["x": "cde"]]),
        (computed(["$substrBytes": ["é!", 2, -1]]), [["x": "!"]]),
        (computed(["$substr": ["abc", 1, 99]]), [["x": "bc"]]), (computed(["$substr": ["abc", 3, 1]]), [["x": ""]]),
        (computed(["$substr": ["$missing", 0, 1]]), [["x": ""]]),
        (computed(["$substr": ["$score", 0, 1]]), [["x": "1"]]),
        // Groups.
        (
            [["$group": ["_id": "$score", "total": ["$sum": "$price"], "n": ["$sum": 1]]], ["$sort": ["_id": 1]]],
            [
                ["objectId": .null, "total": 0, "n": 1], ["objectId": 10, "total": 4, "n": 2],
                ["objectId": 20, "total": 0.1, "n": 1],
            ]
        ),
        (
            [
                [
                    "$group": [
                        "_id": .null, "avg": ["$avg": "$score"], "min": ["$min": "$price"], "max": ["$max": "$name"],
                    ]
                ]
            ],
            [["objectId": .null, "avg": JSON(number: 40.0 / 3), "min": 0.1, "max": "d"]]
        ),
        (
            [
                byName,
                [
                    "$group": [
                        "_id": .null, "first": ["$first": "$name"], "last": ["$last": "$name"], "n": ["$count": [:]],
                    ]
                ],
            ],
            [["objectId": .null, "first": "a", "last": "d", "n": 4]]
        ),
        (
            [byName, ["$group": ["_id": .null, "all": ["$push": "$score"], "set": ["$addToSet": "$score"]]]],
            [["objectId": .null, "all": [10, 10, 20], "set": [10, 20]]]
        ),
        (
            [
                ["$group": ["_id": ["city": "$place.city", "score": "$score"], "n": ["$sum": 1]]], ["$sort": ["n": -1]],
                ["$limit": 1],
            ],
            [["objectId": ["city": "Oslo", "score": 10], "n": 2]]
        ),
        ([["$group": ["_id": "$unknown", "total": ["$sum": "$other"]]]], [["objectId": .null, "total": 0]]),
        ([["$group": ["_id": "", "n": ["$sum": 1]]]], [["objectId": .null, "n": 4]]),
        ([["$match": ["name": "nobody"]], ["$group": ["_id": .null, "n": ["$sum": 1]]]], []),
        (
            [["$group": ["_id": .null, "sum": ["$sum": ["$multiply": ["$score", "$price"]]]]]],
            [["objectId": .null, "sum": 42]]
        ),
        // The key of a group by a pointer is the id. As a value it is the Pointer, and with the prefix _p_ a string.
        (
            [
                ["$match": ["brand": ["$exists": true]]], ["$group": ["_id": "$brand", "n": ["$sum": 1]]],
                ["$sort": ["_id": 1]],
            ],
            [["objectId": "b1", "n": 2], ["objectId": "b2", "n": 1]]
        ),
        ([["$match": ["_p_brand": "Brand$b2"]], ["$group": ["_id": "$_p_brand"]]], [["objectId": "b2"]]),
        (
            [
                ["$match": ["brand": .pointer("Brand", "b2")]],
                ["$project": ["_id": 0, "p": "$brand", "t": "$_p_brand"]],
            ],
            [["p": .pointer("Brand", "b2"), "t": "Brand$b2"]]
        ),
        // The order of sort keys, ties, skip and limit, before and after other stages.
        (
            [["$match": ["score": ["$gt": 0]]], ["$sort": [["score", -1], ["name", -1]]], nameOnly],
            [["name": "c"], ["name": "b"], ["name": "a"]]
        ),
        (
            [["$sort": [["score", 1], ["name", -1]]], nameOnly],
            [["name": "d"], ["name": "b"], ["name": "a"], ["name": "c"]]
        ),
        ([byName, ["$skip": 1], ["$limit": 2], nameOnly], [["name": "b"], ["name": "c"]]),
        ([byName, ["$limit": 3], ["$skip": 1], nameOnly, ["$limit": 1]], [["name": "b"]]),
        ([nameOnly, ["$sort": ["name": -1]], ["$limit": 2]], [["name": "d"], ["name": "c"]]),
        (
            [["$sort": ["place.city": -1]], ["$limit": 1], ["$project": ["_id": 0, "place.city": 1]]],
            [["place": ["city": "Oslo"]]]
        ),
        // $match in every place.
        ([["$match": ["price": ["$lt": 2]]], ["$match": ["price": ["$gte": 1]]], nameOnly], [["name": "a"]]),
        (
            [
                ["$addFields": ["double": ["$multiply": ["$score", 2]]]], ["$match": ["double": ["$in": [40, 41]]]],
                nameOnly,
            ], [["name": "c"]]
        ),
        (
            [["$match": ["$expr": ["$gt": ["$score", ["$multiply": ["$price", 100]]]]]], byName, nameOnly],
            [["name": "c"]]
        ),
        (
            [
                byName, ["$skip": 0], ["$skip": 0], ["$match": ["sizes": "M", "$or": [["name": "a"], ["name": "x"]]]],
                nameOnly,
            ], [["name": "a"]]
        ),
        (
            [nameOnly, ["$match": ["name": ["$regex": "^[AB]$", "$options": "i"], "$nor": [["name": "b"]]]]],
            [["name": "a"]]
        ),
        ([["$project": ["score": 1]], ["$match": ["score": .null]], ["$count": "n"]], [["n": 1]]),
        ([["$project": ["score": 1]], ["$match": ["score": ["$not": ["$gt": 10]]]], ["$count": "n"]], [["n": 3]]),
        (
            [["$project": ["sizes": 1]], ["$match": ["sizes": ["$size": 2, "$all": ["S", "M"]]]], ["$count": "n"]],
            [["n": 1]]
        ),
        ([["$match": ["day": ["$gte": "2021-01-04T00:00:00.000Z"]]], nameOnly], [["name": "b"]]),
        ([["$match": ["_created_at": ["$gte": "2020-01-01T00:00:00.000Z"]]], ["$count": "n"]], [["n": 4]]),
        ([["$limit": 9], ["$match": ["_updated_at": ["$lt": "2020-01-01T00:00:00.000Z"]]], ["$count": "n"]], []),
        // Fields.
        ([["$match": ["name": "d"]], ["$project": ["objectId": 0, "createdAt": 0, "updatedAt": 0]]], [["name": "d"]]),
        (
            [["$match": ["name": "d"]], ["$unset": ["_id", "createdAt", "updatedAt"]], ["$set": ["a.b": 1]]],
            [["name": "d", "a": ["b": 1]]]
        ),
        ([["$match": ["name": "a"]], ["$project": ["_id": 0, "lines.n": 1]]], [["lines": [["n": 10], ["n": 1]]]]),
        ([["$match": ["name": "a"]], ["$project": ["_id": 0, "n": "$lines.n"]]], [["n": [10, 1]]]),
        (
            [["$match": ["name": "a"]], ["$project": ["_id": "$name", "when": "$day"]]],
            [["objectId": "a", "when": date("2020-02-29T23:59:58.007Z")]]
        ),
        // Arrays.
        (
            [["$unwind": "$sizes"], ["$sortByCount": "$sizes"]],
            [["objectId": "M", "count": 2], ["objectId": "S", "count": 1]]
        ),
        (
            [
                byName, ["$unwind": ["path": "$sizes", "preserveNullAndEmptyArrays": true, "includeArrayIndex": "i"]],
                ["$project": ["_id": 0, "name": 1, "sizes": 1, "i": 1]],
            ],
            [
                ["name": "a", "sizes": "S", "i": 0], ["name": "a", "sizes": "M", "i": 1],
                ["name": "b", "sizes": "M", "i": 0],
                ["name": "c", "i": .null], ["name": "d", "i": .null],
            ]
        ),
        ([["$sample": ["size": 10]], ["$count": "n"]], [["n": 4]]),
        ([["$sample": ["size": 2]], ["$count": "n"]], [["n": 2]]),
        // Expressions.
        (computed(["$year": "$day"]), [["x": 2020]]), (computed(["$month": ["$day"]]), [["x": 2]]),
        (computed(["$dayOfMonth": ["date": "$day"]]), [["x": 29]]), (computed(["$hour": "$day"]), [["x": 23]]),
        (computed(["$dayOfWeek": "$day"]), [["x": 7]]), (computed(["$dayOfYear": "$day"]), [["x": 60]]),
        (computed(["$year": "$createdAt"]), [["x": JSON.int(Int64(Timestamp.now.iso.prefix(4)) ?? 0)]]),
        (computed(["$year": "$_updated_at"]), [["x": JSON.int(Int64(Timestamp.now.iso.prefix(4)) ?? 0)]]),
        (
            computed(["$dateToString": ["format": "%d.%m.%Y %H:%M:%S.%L %%", "date": "$day"]]),
            [["x": "29.02.2020 23:59:58.007 %"]]
        ),
        (computed(["$subtract": ["$day", ["$literal": date("2020-02-29T23:59:58.000Z")]]]), [["x": 7]]),
        (computed(["$add": ["$day", 1993]]), [["x": date("2020-03-01T00:00:00.000Z")]]),
        (computed(["$add": [0.1, 0.2, 0.3]]), [["x": 0.6]]), (computed(["$divide": ["$score", 4]]), [["x": 2.5]]),
        (computed(["$subtract": ["$score", "$unknown"]]), [["x": .null]]), (computed(["$mod": [-7, 3]]), [["x": -1]]),
        (computed(["$round": [2.345, 1]]), [["x": 2.3]]),
        (computed(["$concat": ["$name", "-", "$place.city"]]), [["x": "a-Oslo"]]),
        (computed(["$cond": ["if": ["$gt": ["$score", 5]], "then": "much", "else": "little"]]), [["x": "much"]]),
        (computed(["$ifNull": ["$unknown", "none"]]), [["x": "none"]]), (computed(["$size": "$sizes"]), [["x": 2]]),
        (computed(["$arrayElemAt": ["$sizes", -1]]), [["x": "M"]]),
        (computed(["$in": ["S", "$sizes"]]), [["x": true]]),
        (computed(["$sum": "$lines.n"]), [["x": 11]]), (computed(["$max": ["$score", 3]]), [["x": 10]]),
        (computed(["$and": [["$eq": ["$name", "a"]], ["$not": ["$lt": ["$score", 1]]]]]), [["x": true]]),
        (computed(["$toUpper": "$name"]), [["x": "A"]]), (computed("$unknown"), [[:]]),
        (computed(["$literal": "$name"]), [["x": "$name"]]),
        (computed(["a": "$name", "b": ["$score", 1]]), [["x": ["b": [10, 1], "a": "a"]]]),
    ]
}
