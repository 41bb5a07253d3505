import CrashService
import ParseProtocol
import Testing

/// The same crash is one issue across builds and devices, and different crashes are different issues. The events have
/// the forms of the SDKs' documentation.
@Suite struct CrashGroupingTests {
    private func hash(_ event: JSON) -> String { Fingerprint(CrashEvent(event)).hash }

    private func event(_ type: String, _ value: String, _ frames: [JSON], _ more: [String: JSON] = [:]) -> JSON {
        let exception: JSON = [
            "type": .string(type), "value": .string(value), "stacktrace": ["frames": .array(frames)],
        ]
        return .object(more.merging(["exception": ["values": [exception]]]) { $1 })
    }

    // MARK: - Platforms

    private func python(line: Int64, value: String, root: String, helper: String = "add") -> JSON {
        event(
            "KeyError", value,
            [
                [
                    "function": "run", "module": "flask.app", "filename": "flask/app.py", "lineno": .int(line * 3),
                    "in_app": false, "abs_path": .string("\(root)/lib/flask/app.py"),
                ],
                [
                    "function": "checkout", "module": "shop.views", "filename": "shop/views.py", "lineno": .int(line),
                    "in_app": true, "vars": ["total": .string("\(line)")],
                ],
                ["function": .string(helper), "module": "shop.bag", "filename": "shop/bag.py", "in_app": true],
            ], ["platform": "python"])
    }

    @Test func pythonLinesPathsAndMessagesDoNotMatter() {
        let one = hash(python(line: 12, value: "'p17'", root: "/home/a"))
        #expect(one == hash(python(line: 14, value: "'p18'", root: "/srv")))
        #expect(one != hash(python(line: 12, value: "'p17'", root: "/home/a", helper: "remove")))
        #expect(CrashEvent(python(line: 1, value: "'p17'", root: "/")).culprit == "shop.bag in add")
        #expect(CrashEvent(python(line: 1, value: "'p17'", root: "/")).title == "KeyError: 'p17'")
    }

    private func javascript(hash: String, query: String, column: Int64) -> JSON {
        event(
            "TypeError", "Cannot read properties of undefined (reading 'price')",
            [
                [
                    "filename": .string("https://shop.example/static/js/main.\(hash).js\(query)"),
                    "function": "t.render",
                    "lineno": 1, "colno": .int(column), "in_app": true,
                ]
            ], ["platform": "javascript"])
    }

    @Test func javascriptBundlesAreTheSameFileInEveryBuild() {
        let one = hash(javascript(hash: "3f2a9c1b", query: "", column: 817))
        #expect(one == hash(javascript(hash: "77aa00ee", query: "?v=3", column: 12_345)))
    }

    private func cocoa(address: String, container: String, function: JSON) -> JSON {
        [
            "platform": "cocoa", "level": "fatal",
            "exception": [
                "values": [
                    [
                        "type": "EXC_BAD_ACCESS",
                        "value": .string("Attempted to dereference garbage pointer at \(address)."),
                        "stacktrace": [
                            "frames": [
                                ["package": "/usr/lib/system/libdyld.dylib", "function": "start", "in_app": false],
                                [
                                    "package": .string("/var/containers/Bundle/Application/\(container)/Shop.app/Shop"),
                                    "instruction_addr": .string(address), "image_addr": "0x100000000", "in_app": true,
                                    "function": function,
                                ],
                            ]
                        ],
                    ]
                ]
            ],
        ]
    }

    @Test func cocoaAddressesAndContainersDoNotMatter() {
        let function: JSON = "closure #1 in BagViewController.add(_:)"
        let one = cocoa(address: "0x1048aa310", container: "6A1C9E4E-1111-4C5B-9A77-0B6F3D2E8C11", function: function)
        let other = cocoa(address: "0x104bb0010", container: "0F0F0F0F-2222-4C5B-9A77-0B6F3D2E8C22", function: function)
        #expect(hash(one) == hash(other))
        let bare = cocoa(address: "0x1", container: "A", function: .null)
        #expect(hash(bare) == hash(cocoa(address: "0x2", container: "B", function: "<redacted>")), "Without symbols.")
        #expect(hash(one) != hash(bare))
        #expect(CrashEvent(one).culprit == "Shop.app/Shop in closure ## in BagViewController.add(_:)")
    }

    @Test func aCrashedThreadStandsInForAnException() {
        func event(_ crashed: String) -> JSON {
            [
                "platform": "native", "message": "SIGSEGV",
                "threads": [
                    "values": [
                        ["id": 1, "stacktrace": ["frames": [["function": "idle"]]]],
                        ["id": 2, "crashed": true, "stacktrace": ["frames": [["function": .string(crashed)]]]],
                    ]
                ],
            ]
        }
        #expect(hash(event("parse")) != hash(event("draw")))
        #expect(CrashEvent(event("parse")).culprit == "parse")
    }

    private func java(lambda: String, line: Int64, cause: String) -> JSON {
        [
            "platform": "java",
            "exception": [
                "values": [
                    ["type": .string(cause), "module": "java.io", "value": "timeout"],
                    [
                        "type": "CheckoutException", "module": "com.example.shop", "value": "order 17 failed",
                        "stacktrace": [
                            "frames": [
                                ["module": "android.os.Handler", "function": "dispatchMessage", "in_app": false],
                                [
                                    "module": .string("com.example.shop.Bag$$Lambda$\(lambda)"), "function": "run",
                                    "lineno": .int(line), "in_app": true,
                                ],
                            ]
                        ],
                    ],
                ]
            ],
        ]
    }

    @Test func javaLambdasAndLinesDoNotMatterButTheCauseDoes() {
        let one = hash(java(lambda: "14/0x0000000800c8a440", line: 7, cause: "IOException"))
        #expect(one == hash(java(lambda: "22/0x0000000800d00040", line: 9, cause: "IOException")))
        #expect(one != hash(java(lambda: "14/0x0000000800c8a440", line: 7, cause: "EOFException")))
    }

    // MARK: - Rules

    @Test func theAppsFramesDecideWhenThereAreAny() {
        let own: JSON = ["module": "shop.bag", "function": "add", "in_app": true]
        func library(_ name: String) -> JSON { ["module": .string(name), "function": "call", "in_app": false] }
        #expect(hash(event("E", "", [library("a"), own])) == hash(event("E", "", [library("b"), own])))
        #expect(hash(event("E", "", [library("a")])) != hash(event("E", "", [library("b")])))
    }

    @Test func recursionIsOneFrame() {
        let frame: JSON = ["module": "shop", "function": "visit", "in_app": true]
        #expect(
            hash(event("Overflow", "", Array(repeating: frame, count: 90)))
                == hash(event("Overflow", "", Array(repeating: frame, count: 40))))
    }

    @Test func messagesAreEqualApartFromNumbersAndIds() {
        func message(_ text: String) -> JSON { ["message": .string(text)] }
        let one = hash(message("order 17 of 550e8400-e29b-41d4-a716-446655440000 at 0x7ffe12 not found"))
        #expect(one == hash(message("order 18 of 6fa459ea-ee8a-3ca4-894e-db77e160355e at 0x7ffe99 not found")))
        #expect(one != hash(message("order 17 of 550e8400-e29b-41d4-a716-446655440000 at 0x7ffe12 not paid")))
        let template: JSON = ["logentry": ["message": "order %s not found", "formatted": "order ab not found"]]
        let other: JSON = ["logentry": ["message": "order %s not found", "formatted": "order cd not found"]]
        #expect(hash(template) == hash(other))
        #expect(MessagePattern.withoutVariables("utf8 on iPhone7 in 2 s") == "utf8 on iPhone7 in # s")
        #expect(hash(event("E", "index 7 of 3", [])) == hash(event("E", "index 9 of 4", [])))
    }

    @Test func aClientsFingerprintDecides() {
        let frames: [JSON] = [["module": "a", "function": "f"]]
        let others: [JSON] = [["module": "b", "function": "g"]]
        let own: [String: JSON] = ["fingerprint": ["payments-down"]]
        #expect(hash(event("E", "", frames, own)) == hash(event("F", "", others, own)))
        let plain = hash(event("E", "", frames))
        #expect(hash(event("E", "", frames, ["fingerprint": ["{{ default }}"]])) == plain)
        #expect(hash(event("E", "", frames, ["fingerprint": ["{{default}}"]])) == plain)
        let more: [String: JSON] = ["fingerprint": ["{{ default }}", "tenant-1"]]
        #expect(hash(event("E", "", frames, more)) != plain)
        #expect(hash(event("E", "", frames, more)) != hash(event("E", "", others, more)))
        #expect(hash(event("E", "", frames, ["fingerprint": []])) == plain)
    }

    @Test(
        arguments: [
            [:], ["exception": 5], ["exception": ["values": [1, "a", [:]]]],
            ["exception": ["values": [["stacktrace": ["frames": [7]]]]]],
            ["message": ["formatted": 1]], ["threads": ["values": "x"]], ["fingerprint": [[:], true, 7]],
            ["level": "loud"],
            ["exception": [["type": "E"]]],
        ] as [JSON])
    func anyShapeIsGrouped(event: JSON) {
        #expect(hash(event).count == 32)
        #expect(!CrashEvent(event).title.isEmpty)
    }

    // MARK: - Stored fields

    @Test func secretsAndAddressesAreNotKept() {
        let event: JSON = [
            "user": ["id": "u1", "ip_address": "{{auto}}", "email": "ann@example.com"],
            "request": [
                "headers": [["Cookie", "a=b"], ["Accept", "*/*"]], "cookies": "a=b", "env": ["REMOTE_ADDR": "10.0.0.1"],
                "data": ["X-Parse-Session-Token": "r:1", "note": "gift"],
            ],
            "extra": ["card": "4242 4242 4242 4242", "password": "x", "count": 3],
        ]
        let kept = EventScrubber.scrubbed(event)
        let text = kept.serializedText
        for secret in ["10.0.0.1", "a=b", "r:1", "4242", #""x""#, "{{auto}}"] { #expect(!text.contains(secret)) }
        for fine in ["u1", "ann@example.com", "*/*", "gift", "3"] { #expect(text.contains(fine)) }
        let anonymous = EventScrubber.anonymized([
            "user": ["id": "user12", "email": "ann@example.com"], "message": "mail to ann@example.com",
            "tags": ["a": "b"],
        ])
        #expect(anonymous == ["message": "[Filtered]", "tags": ["a": "b"]])
    }
}
