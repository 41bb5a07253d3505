/// Private keys for tests only.
enum TestKeys {
    /// The key of RFC 7515, appendix A.2.
    static let rsa = """
        -----BEGIN PRIVATE KEY-----
        MIIEvQIBADANBgkqhkiG9w0BAQEFAASCBKcwggSjAgEAAoIBAQCh+BYK4uPJtGXO
        jS1lYmM2K5J9vinh8CR3/BYlzJChNuOL2TSXxbbqY913EeZ8dCn5VrD7io8ImtxL
        aYk8wTM/U+3QGbh3hCUv7JFP5IV3aVlL6kKA0ywPVb9ilE8TA5a8bpvfbr3SvaNn
        juygxmj3AbONv/s4yDQs4v5tJ/reSlpIdJed1LnPmt7Ex1sFhSwsD174pcF1A5L5
        ROjtZMEQxrZHYJqkeDrrnGya11UxMFBji4NmXG9veoKjlnAqH2QbgtPr8jkiGUkf
        toaHLFcW9Qr4NY2ai50Xw0Byj3+H2JoY2PyrZ62EWQwuz3WTOTY8BwNNb2BvniHg
        VFbK5emhAgMBAAECggEAEq5xpGnNCivDflJsRQBXHx1hdR1k6Ulwe2JZD50LpXyW
        PEAeP88vLNO97IjlA7/GQ5sLKMgvfTeXZx9SE+7YwVol2NXOoAJe46sui395IW/G
        O+pWJ1O0BkTGoVEn2bKVRUCgu+GjBVaYLU6f3l9kJfFNS3E0QbVdxzubSu3Mkqzj
        kn439X0M/V51gfpRLI9JYanrC4D4qAdGcopV/0ZHHzQlBjudU2QvXt4ehNYTCBr6
        XCLQUShb1juUO1ZdiYoFaFQT5Tw8bGUl/x/jTj3ccPDVZFD9pIuhLhBOneufuBiB
        4cS98l2SR/RQyGWSeWjnczT0QU91p1DhOVRuOopznQKBgQDgHMQQ60imZV1URk0K
        pLttoLhyt3SmqdEf/kgHePDdtzEafpAu+cS191R2JiuoF2yzWXnwFDcqGigp5BNr
        0AHQfD8/Lk8l1Mk09jxxCfui5nYooNyac8YFjm3vItzVCVDnEd3BbVWG8qf6deqE
        lMGAg+C2V0L4oNXnP7LZcPAZRwKBgQC5A8R+CZW2MvRTLLHzwZkUXV866cff7tx6
        kqa0finGG0KgeqlaZPxgCZnFp7AeAcCMtiynVlJ7vMVgePsLq6XtON4tB5kP9jAP
        rq3rbAOal78eUH5OcED6eNuCV8ixEu1eWcPNCS/l1OW1EnXUEoEHKl54Xrrz2uNw
        kgMTP1FZ1wKBgAcCn1dwJKufzBWQxWQp1vsM5fggqPN1qGb5y0MAk3g7/Ls5bkUp
        5u9SN0Ai3Ya6hNnvWJMb7sXQX6U/zyO2M/hTip7tUeh7CXgwo59dkpN75gJLVds2
        9+DAncu3KXU4f2Fa+7bLNrur53k8KwPOq2bbuTG69QtV7Jr5MR0AHWKNAoGBAIf/
        evpitUf+4JYbLpvNXWcY052Mpz22aR84mY3nh3F2LF2mjMJDpTg7FmuyPcVw6EcG
        yoAe9fa65iNqCq+jdw6PVNGo2hxfjSiZ8IIzHdsPXI89//pMjZcQK9r+CCoRjaZj
        OYiIDktVWZzmevJuv6WywUqd57LE3Zar3dLSIkx1AoGAIYd7DHOhrWvxkwPQsRM2
        tOgrjbcrfvtQJipd+DlcxyVuuM9sQLdgjVk2oy26F0EmpScGLq2MowX7fhd/QJQ3
        ydy5cY7YIBi87w93IKLEdfnbJtoOPLUW0ITrJReOgo1cq9SbsxYawBgfp/gh6A56
        03k2+ZQwVK0JKSHuLFkuQ3U=
        -----END PRIVATE KEY-----
        """
    static let p256 = """
        -----BEGIN PRIVATE KEY-----
        MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgGADXDcAvQWjfpBr+
        rhzPD2JpIGjrA5NIueuD0gkMBHqhRANCAASb9aXSKRotk/p1YVCY5/HeaEpKWiQs
        Ji+c7rwgAVSzobvoX76Xl2LuDKmCZidoAbFppJbafLWJrs/DcAPh9hYf
        -----END PRIVATE KEY-----
        """
    /// `p256`, encrypted with the password "abcd".
    static let encrypted = """
        -----BEGIN ENCRYPTED PRIVATE KEY-----
        MIHsMFcGCSqGSIb3DQEFDTBKMCkGCSqGSIb3DQEFDDAcBAiA8Za94xMRjAICCAAw
        DAYIKoZIhvcNAgkFADAdBglghkgBZQMEASoEEDqJ07E07bY8qw0vFg/PWkMEgZCZ
        Pke603MABcgnzTNKfK0+WCJoU5PpU/t5piuCzIYX3gwRwlN78BLg19zAb6xDCKlp
        aTNqWq0jasvOCDPmZWlPYeruo2IJK1zXQVq8o+RItXildvy8AZvjHqHqJ1EjF+fM
        G7rBsxqi9IuaipfbmR6MWvHcAvL7JD3pBzn1OQXy2yfUOyAjSOfi5gr4qnplFPc=
        -----END ENCRYPTED PRIVATE KEY-----
        """
    /// A key on a curve that Satchel does not use.
    static let p384 = """
        -----BEGIN PRIVATE KEY-----
        MIG2AgEAMBAGByqGSM49AgEGBSuBBAAiBIGeMIGbAgEBBDD7jkKcuYPpKKOa4leI
        fD9iqa7/waCF8cjDgfyBK1vmP95dcRLxh2cfyYGDNxk3A4uhZANiAARXZG24kaRa
        CJDSuefjdh/87X9LnvOjDu02inSKa7qVC7IxBKWgN8xi8685WyAuvsrbOBklMCge
        nEtXCIygV3xqw6UHnaW4ne77hfVabNl5CyGDUg2zHRLDI59LJrmAXwg=
        -----END PRIVATE KEY-----
        """
    /// RSA with 1024 bits.
    static let short = """
        -----BEGIN PRIVATE KEY-----
        MIICdQIBADANBgkqhkiG9w0BAQEFAASCAl8wggJbAgEAAoGBALZCGX++HKPAP1cb
        2tTvtOSdMHZGbul4vowZmuYEwjm0d74ceZwVGsa54FVIEEz4SKe/DouL5FSLX5/b
        SrinYoQJqbuYGe5mQxL9yhrpmmZLVyjFzpsssh/DmszihDNaY5GCZUPlSs4+dFs2
        ef88SX9/qOH7TOckyFsuwZuOTbvJAgMBAAECgYAiobrAqDo+71fZ0IQrdAT2b9v2
        jXmjyXrDmlXxoTPazSz3peeBvgzheA5lhhT62y7LGSXFZGaVngokkQHIxp2UUNMx
        DT+54LWg6bYjobJjwn6aiHJCI62zhKjqwnhK2lhz3uiVkA/sLgKUNYRqOvQsZmX4
        TDSKfi3ve7hBs0lvEQJBAO8AVRUpbDcesTDOuJ7g1tBmo1T6Is5NI7dmHKzV/Zgl
        PCTc8rsPNTzb6ozLrpjEaSlk5Mx+9Nm+41kr1pS3PeUCQQDDOJrnKS6xKBcRZUR8
        uEGHg1yH28GIj43/PurPgnpdq8FoNoKHwi5rBKt0Z3WNVItRGRzbp04RDn2zQnuy
        lIgVAkAUk0i/26MPU7sZYpKOSvjzVAK3rBkW/ZkXjtjlID8GvB3jZooXBIYmyR/2
        IwrS6AXNpHv2Bu/5Vu+nm5iLkQLpAkAXfN7+QvEwNV+ZIzL7Qnv33vEqE2GUmZj/
        BcXgk5U/YePSMwS/ariE/bnXNn9pMqvUZQ4Yy2dUHAc5ox0Y3lAFAkBA6EqTAOFE
        QJlmsNvU3AoatiMZFGx+WALGaoSLZ32JIVRgCE+5jRcW8Y54+yy9jST65MVgK65c
        kqcjR3LdSIAx
        -----END PRIVATE KEY-----
        """
}
